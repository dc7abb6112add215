"""A case: a function as anybody would write it, and what the conductor is asked to make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Made = tuple[Callable[..., Any], Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """Attributes:
    name: what it is, at which size. make: the function and its arguments.
    time, memory: asked ratios of plain ``jax.jit``'s seconds and temporary bytes to ours; None
        where nothing is asked.
    objective: what it is conducted for.
    """

    name: str
    make: Callable[[], Made]
    time: float | None = None
    memory: float | None = None
    objective: str = "time"
