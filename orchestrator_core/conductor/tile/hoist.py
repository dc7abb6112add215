"""R1: what does not change along a summed axis leaves the sum.

``sum_j f_i A_ij = f_i sum_j A_ij``. The summand is taken apart into factors that are proven to be
the same all along the role, and terms that are not. The sum of the terms' product does not need the
factors to be known, so it can be taken in an earlier pass. What is known in time anyway is not
taken apart: identities of real numbers are used where they save a pass, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable, axis_roles
from orchestrator_core.conductor.facts.bounds import is_below_zero
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.number_types import is_precise
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.tile.recipe import key_of
from orchestrator_core.conductor.tile.region import Region
from orchestrator_core.conductor.tile.terms import Factor, Path, Product, Shift, Term

CASTS = ("convert_element_type", "copy", "stop_gradient", "name")
VIEWS = (*RESHAPES, "transpose")

IsKnown: TypeAlias = Callable[[Atom], bool]
"""Can a value be had in the pass in which the sum is to be taken?"""

Masks: TypeAlias = tuple[Term, ...]


def product_of(region: Region, value: Atom, spec: Spec, role: Role, is_known: IsKnown) -> Product:
    """The value as a product of factors that are the same along the role, and of terms."""
    return _Peeler(region, role, is_known).peeled(value, spec)


class _Peeler:
    def __init__(self, region: Region, role: Role, is_known: IsKnown) -> None:
        self.region, self.role, self.is_known = region, role, is_known
        self.flow: Dataflow = region.flow
        self.factors: list[Factor] = []
        self.terms: list[Term] = []
        self.open: list[tuple[Atom, Spec, Path, Masks]] = []

    def peeled(self, value: Atom, spec: Spec) -> Product:
        self.open = [(value, spec, (), ())]
        while self.open:
            atom, spec, path, masks = self.open.pop()
            if isinstance(atom, Literal) or self._is_same(atom, spec):
                self.factors.append(Factor("mul", key_of(atom, spec), spec, path))
            elif self.is_known(atom) or not self._opened(atom, spec, path, masks):
                self.terms.append(Term(atom, spec, path, masks=masks))
        return Product(tuple(self.factors), tuple(self.terms))

    def _is_same(self, atom: Atom, spec: Spec) -> bool:
        return self.flow.is_invariant(atom, spec, self.role)

    def _opened(self, value: Value, spec: Spec, path: Path, masks: Masks) -> bool:
        """Is it a product or the like? Then its operands are taken instead."""
        node = self.flow.node_of(value)
        if node is None or value in self.region.solid:
            return False
        try:
            specs = list(rule_of(node).back(node, spec))
        except Untileable:
            return False
        if node.name in ("mul", "div"):
            return self._open_product(node, spec, specs, path, masks)
        if node.name == "exp":
            return self._open_exponential(node, spec, path, masks)
        if node.name == "select_n":
            return self._open_choice(node, spec, specs, path, masks)
        return self._open_single(node, spec, specs, path, masks)

    def _open_product(
        self, node: Node, spec: Spec, specs: list[Spec], path: Path, masks: Masks
    ) -> bool:
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
                self.open.append((each, given, path, masks))
        return True

    def _open_choice(
        self, node: Node, spec: Spec, specs: list[Spec], path: Path, masks: Masks
    ) -> bool:
        """A value, or zero where a mask says so."""
        if len(node.inputs) != 3 or not jnp.issubdtype(node.output.dtype, jnp.floating):
            return False
        which, *cases = node.inputs
        zero = [is_zero(self.flow, each) for each in cases]
        if sum(zero) != 1 or which.dtype != bool or isinstance(which, Literal):
            return False
        kept, kind = (2, "where") if zero[0] else (1, "unless")
        if {which.shape, node.inputs[kept].shape} != {node.output.shape}:
            return False
        if self._is_same(which, specs[0]):
            self.factors.append(Factor(kind, key_of(which, specs[0]), spec, path))
        else:
            masks = (*masks, self._mask(Term(which, specs[0], path, kind=kind)))
        self.open.append((node.inputs[kept], specs[kept], path, masks))
        return True

    def _mask(self, mask: Term) -> Term:
        """A mask twice is that mask."""
        if mask not in self.terms:
            self.terms.append(mask)
        return mask

    def _open_exponential(self, node: Node, spec: Spec, path: Path, masks: Masks) -> bool:
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
        whole = self.flow.node_of(node.inputs[0])
        is_low = len(shifts) == 1 and whole is not None and is_below_zero(self.flow, whole)
        self.terms.append(Term(exponent, spec, path, tuple(shifts), is_low=is_low, masks=masks))
        return True

    def _shifted(self, exponent: Atom, spec: Spec) -> tuple[Atom, Shift] | None:
        node = self.flow.node_of(exponent)
        if node is None or node.name not in ("add", "sub") or exponent in self.region.solid:
            return None
        if self.is_known(exponent):
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

    def _open_single(
        self, node: Node, spec: Spec, specs: list[Spec], path: Path, masks: Masks
    ) -> bool:
        given = node.inputs[0] if node.inputs else None
        if given is None or not jnp.issubdtype(given.dtype, jnp.floating):
            return False
        if node.name == "neg":
            self.factors.append(Factor("neg", None, spec, path))
            self.open.append((given, specs[0], path, masks))
        elif is_cast(node):
            self.open.append((given, specs[0], path, masks))
        elif node.name in VIEWS:
            self.open.append((given, specs[0], (*path, (node, spec)), masks))
        else:
            return False
        return True


def is_zero(flow: Dataflow, atom: Atom) -> bool:
    """Is it zero everywhere, as it was written?"""
    while (node := flow.node_of(atom)) is not None and (
        node.name in (*VIEWS, "broadcast_in_dim") or is_cast(node)
    ):
        if len(node.inputs) != 1:
            return False
        atom = node.inputs[0]
    return isinstance(atom, Literal) and bool((np.asarray(atom.value) == 0).all())


def is_cast(node: Node) -> bool:
    """Does it at most round real numbers as their tolerance covers?"""
    types = [node.inputs[0].dtype, node.output.dtype] if node.name in CASTS else [np.dtype(bool)]
    return all(jnp.issubdtype(dtype, jnp.floating) and is_precise(dtype) for dtype in types)
