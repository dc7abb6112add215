"""Values in max-plus, min-plus or in log space, as a loop's body makes them of what it carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.ir.value import Atom

PLUS: Mapping[str, Callable[[Any, Any], Any]] = {
    "max": jnp.maximum,
    "min": jnp.minimum,
    "log": jnp.logaddexp,
}
"""By kind, what adds up. What multiplies is addition."""


def zero(kind: str) -> float:
    """What changes nothing where it is added."""
    return float("inf") if kind == "min" else -float("inf")


@dataclass(frozen=True)
class Affine:
    """Attributes:
    scales: for each carry what is added to it in log space, None where the value does not depend
        on it. rest: what is compared with that, or None. is_exp: is the value its exponential?
    apart: the two whose difference it is, if it is one.
    """

    scales: tuple[Any, ...]
    rest: Any
    is_exp: bool = False
    apart: frozenset[Atom] = frozenset()

    def each(self, change: Callable[[Any], Any]) -> Affine:
        """With all parts changed."""
        scales = tuple(None if x is None else change(x) for x in self.scales)
        return Affine(scales, None if self.rest is None else change(self.rest), self.is_exp)


@dataclass(frozen=True)
class Largest:
    """The larger of two, which cancels or becomes their sum."""

    values: tuple[Any, Any]
    of: frozenset[Atom]


@dataclass(frozen=True)
class Apart:
    """Something computed of the difference of two, or of nothing but NaN."""

    of: frozenset[Atom]
