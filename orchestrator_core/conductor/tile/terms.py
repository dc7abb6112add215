"""An operand of a sum as a product: factors that are the same along the role, and terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Role, Spec, tile_shape
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.recipe import Key, Wanted

Path: TypeAlias = tuple[tuple[Node, Spec], ...]
"""The views between a term and the summand, outermost first, with the specs of their results."""


@dataclass(frozen=True)
class Factor:
    """Attributes:
    kind: ``mul``, ``div`` or ``neg``; ``where`` or ``unless`` of a truth value: zero elsewhere.
    wanted: the value; None of ``neg``.
    spec: of what it is multiplied with, which `path` leads to the summand from.
    """

    kind: str
    wanted: Wanted | None
    spec: Spec
    path: Path


@dataclass(frozen=True)
class Shift:
    """What is added to an exponent and does not change along the role; ``sign`` 1 or -1."""

    sign: float
    wanted: Wanted


@dataclass(frozen=True)
class Term:
    """A factor that changes along the role; with shifts, the exponential of what is left of its
    exponent without them.

    Attributes:
        shifts: None if it is no exponential.
        kind: ``mul``; ``where`` or ``unless`` of a truth value: the product is zero elsewhere.
        is_low: has it one shift, which is proven to be no smaller than any exponent?
        masks: those that it lies under, whatever it is there.
    """

    value: Value
    spec: Spec
    path: Path
    shifts: tuple[Shift, ...] | None = None
    kind: str = "mul"
    is_low: bool = False
    masks: tuple[Term, ...] = ()

    @property
    def key(self) -> Key:
        return self.value, self.spec

    @property
    def is_exponential(self) -> bool:
        return self.shifts is not None

    @property
    def looks(self) -> tuple[Key, bool, str]:
        """What it is, apart from the views between it and the summand."""
        return self.key, self.is_exponential, self.kind


@dataclass(frozen=True)
class Product:
    """An operand of a sum as a product."""

    factors: tuple[Factor, ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def exponential(self) -> Term | None:
        return next((term for term in self.terms if term.is_exponential), None)

    @property
    def has_mask_outside(self) -> bool:
        """Is all of it zero wherever a factor says so?"""
        return any(each.kind in ("where", "unless") for each in self.factors)

    @property
    def outside(self) -> list[Wanted]:
        """What must be known when the sum is finished, and not before."""
        shifts = [shift.wanted for term in self.terms for shift in term.shifts or ()]
        return [each.wanted for each in self.factors if each.wanted is not None] + shifts


def along(path: Path, array: Any, sizes: dict[Role, int]) -> Any:
    """The views of a path, done to the tile of a term."""
    for node, spec in reversed(path):
        if node.name == "transpose":
            array = lax.transpose(array, node.params["permutation"])
        else:
            array = jnp.reshape(array, tile_shape(spec, sizes))
    return array


def labelled(path: Path, labels: list[Any]) -> list[Any] | None:
    """The labels of a term's axes, on the summand's; axes of one element have the label None.
    None if a view cuts an axis."""
    for node, _ in reversed(path):
        if node.name == "transpose":
            labels = [labels[k] for k in node.params["permutation"]]
            continue
        given, made = node.inputs[0].shape, node.output.shape
        if [d for d in given if d != 1] != [d for d in made if d != 1]:
            return None
        left = iter([label for label, d in zip(labels, given, strict=True) if d != 1])
        labels = [next(left) if d != 1 else None for d in made]
    return labels
