"""R1: what does not change along a summed axis leaves the sum.

``sum_j f_i A_ij = f_i sum_j A_ij``. The summand is taken apart into factors that are proven to be
the same all along the role, and terms that are not. The sum of the terms' product does not need the
factors to be known, so it can be taken in an earlier pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable, axis_roles, tile_shape
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.tile.recipe import Key, Wanted, key_of
from orchestrator_core.conductor.tile.region import Region

CASTS = ("convert_element_type", "copy", "stop_gradient", "name")
VIEWS = (*RESHAPES, "transpose")

Path: TypeAlias = tuple[tuple[Node, Spec], ...]
"""The views between a term and the summand, outermost first, with the specs of their results."""


@dataclass(frozen=True)
class Factor:
    """Attributes:
    kind: ``mul``, ``div`` or ``neg``. wanted: the value; None of ``neg``.
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
    """

    value: Value
    spec: Spec
    path: Path
    shifts: tuple[Shift, ...] | None = None

    @property
    def key(self) -> Key:
        return self.value, self.spec

    @property
    def is_exponential(self) -> bool:
        return self.shifts is not None


@dataclass(frozen=True)
class Product:
    """An operand of a sum as a product."""

    factors: tuple[Factor, ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def exponential(self) -> Term | None:
        return next((term for term in self.terms if term.is_exponential), None)

    @property
    def outside(self) -> list[Wanted]:
        """What must be known when the sum is finished, and not before."""
        shifts = [shift.wanted for term in self.terms for shift in term.shifts or ()]
        return [each.wanted for each in self.factors if each.wanted is not None] + shifts


def product_of(region: Region, value: Atom, spec: Spec, role: Role) -> Product:
    """The value as a product of factors that are the same along the role, and of terms."""
    return _Peeler(region, role).peeled(value, spec)


class _Peeler:
    def __init__(self, region: Region, role: Role) -> None:
        self.region, self.role = region, role
        self.flow: Dataflow = region.flow
        self.factors: list[Factor] = []
        self.terms: list[Term] = []
        self.open: list[tuple[Atom, Spec, Path]] = []

    def peeled(self, value: Atom, spec: Spec) -> Product:
        self.open = [(value, spec, ())]
        while self.open:
            atom, spec, path = self.open.pop()
            if isinstance(atom, Literal) or self._is_same(atom, spec):
                self.factors.append(Factor("mul", key_of(atom, spec), spec, path))
            elif not self._opened(atom, spec, path):
                self.terms.append(Term(atom, spec, path))
        return Product(tuple(self.factors), tuple(self.terms))

    def _is_same(self, atom: Atom, spec: Spec) -> bool:
        return self.flow.is_invariant(atom, spec, self.role)

    def _opened(self, value: Value, spec: Spec, path: Path) -> bool:
        """Is it a product or the like? Then its operands are taken instead."""
        node = self.flow.node_of(value)
        if node is None or value in self.region.solid:
            return False
        try:
            specs = list(rule_of(node).back(node, spec))
        except Untileable:
            return False
        if node.name in ("mul", "div"):
            return self._open_product(node, spec, specs, path)
        if node.name == "exp":
            return self._open_exponential(node, spec, path)
        return self._open_single(node, spec, specs, path)

    def _open_product(self, node: Node, spec: Spec, specs: list[Spec], path: Path) -> bool:
        same = [self._is_same(*each) for each in zip(node.inputs, specs, strict=True)]
        if not jnp.issubdtype(node.output.dtype, jnp.floating):
            return False
        if any(
            each.shape != node.output.shape and not is_same
            for each, is_same in zip(node.inputs, same, strict=True)
        ):
            return False
        if node.name == "div" and not same[1]:
            return False
        for place, (each, given) in enumerate(zip(node.inputs, specs, strict=True)):
            if same[place]:
                kind = "div" if node.name == "div" and place else "mul"
                self.factors.append(Factor(kind, key_of(each, given), spec, path))
            else:
                self.open.append((each, given, path))
        return True

    def _open_exponential(self, node: Node, spec: Spec, path: Path) -> bool:
        """``exp(x - m)`` with ``m`` the same along the role: the exponential of ``x``, shifted."""
        if any(self.role in axis_roles(axis) and len(axis) > 1 for axis in spec):
            return False
        exponent: Atom = node.inputs[0]
        shifts: list[Shift] = []
        while (found := self._shifted(exponent, spec)) is not None:
            exponent, shift = found
            shifts.append(shift)
        if isinstance(exponent, Literal) or exponent.shape != node.output.shape:
            return False
        self.terms.append(Term(exponent, spec, path, tuple(shifts)))
        return True

    def _shifted(self, exponent: Atom, spec: Spec) -> tuple[Atom, Shift] | None:
        node = self.flow.node_of(exponent)
        if node is None or node.name not in ("add", "sub") or exponent in self.region.solid:
            return None
        first, second = node.inputs
        specs = rule_of(node).back(node, spec)
        if first.shape == node.output.shape and self._is_same(second, specs[1]):
            sign = 1.0 if node.name == "add" else -1.0
            return first, Shift(sign, key_of(second, specs[1]))
        if node.name == "sub" or second.shape != node.output.shape:
            return None
        return (
            (second, Shift(1.0, key_of(first, specs[0])))
            if self._is_same(first, specs[0])
            else None
        )

    def _open_single(self, node: Node, spec: Spec, specs: list[Spec], path: Path) -> bool:
        given = node.inputs[0] if node.inputs else None
        if given is None or not jnp.issubdtype(given.dtype, jnp.floating):
            return False
        if node.name == "neg":
            self.factors.append(Factor("neg", None, spec, path))
            self.open.append((given, specs[0], path))
        elif is_cast(node):
            self.open.append((given, specs[0], path))
        elif node.name in VIEWS:
            self.open.append((given, specs[0], (*path, (node, spec))))
        else:
            return False
        return True


def is_cast(node: Node) -> bool:
    """Does it at most change the precision of numbers?"""
    types = [node.inputs[0].dtype, node.output.dtype] if node.name in CASTS else [bool]
    return all(jnp.issubdtype(dtype, jnp.floating) for dtype in types)


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
