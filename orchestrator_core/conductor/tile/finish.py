"""What becomes of an accumulated sum: the factors that were left out of it, and its own type."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import ROLES, Role, Spec, tile_shape
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.indexing import SCATTERS, clips, widened
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.accumulators.running_max import RunningMax, subtracted
from orchestrator_core.conductor.tile.accumulators.summed import kept, spread
from orchestrator_core.conductor.tile.plans import Exchange, Plan
from orchestrator_core.conductor.tile.recipe import Key, Recipe, Wanted, recipe_of
from orchestrator_core.conductor.tile.terms import Factor, Path, Product, along

BESIDE = {"gather": 1, **dict.fromkeys(SCATTERS, 0)}
"""Which operand is read beside what was accumulated: indices, and the table that is added to."""


def _as_it_is(array: Any) -> Any:
    return array


@dataclass(frozen=True)
class Finish:
    """From an accumulated array, and the running maximum if there is one, to a boundary's result.

    Attributes:
        length: elements along each role. recipe: of what is needed beside.
    """

    plan: Plan
    length: dict[Role, int]
    recipe: Recipe

    @classmethod
    def of(cls, flow: Dataflow, plan: Plan, length: dict[Role, int]) -> Finish:
        outside = [each for product in plan.products for each in product.outside]
        return cls(plan, length, recipe_of(flow, outside))

    @property
    def extra(self) -> tuple[Value, ...]:
        """What is read beside what was accumulated."""
        found = list(self.recipe.values)
        if self.plan.exchange is not None and isinstance(self.plan.exchange.other, Value):
            found.append(self.plan.exchange.other)
        name, inputs = self.plan.node.name, self.plan.node.inputs
        beside = inputs[BESIDE[name]] if name in BESIDE else None
        if isinstance(beside, Value):
            found.append(beside)
        return tuple(dict.fromkeys(found))

    def __call__(self, summed: Any, shift: Any, extra: Mapping[Value, Any]) -> Any:
        """Args:
        shift: None if there is no exponential.
        """
        made = summed
        if self.plan.node.name == "gather":
            made = _filled(self.plan.node, made, extra)
        elif self.plan.node.name in SCATTERS:
            made = made + _beside(self.plan.node, extra).astype(made.dtype)
        made = self.scaled(made, shift, extra)
        return made.astype(self.plan.node.output.dtype).reshape(self.plan.node.output.shape)

    def scaled(
        self,
        made: Any,
        shift: Any,
        extra: Mapping[Value, Any],
        of: Callable[[Any], Any] = _as_it_is,
    ) -> Any:
        """With the factors that were left out; `of`: what is taken of the other sum's factor."""
        if self.plan.exchange is not None:
            made = _contracted(self.plan.exchange, self.plan.node, made, extra, of)
        for side, product in enumerate(self.plan.products):
            made = self._with_factors(made, side, product, shift, extra)
        return made

    @property
    def _sizes(self) -> dict[Role, int]:
        """One element along the role that was summed, since nothing here changes along it."""
        other = ROLES[1 - ROLES.index(self.plan.role)]
        return {self.plan.role: 1, other: self.length[other]}

    def known(self, extra: Mapping[Value, Any]) -> Mapping[Key, Any]:
        place = Tile(dict.fromkeys(ROLES, 0), self._sizes)

        def read(key: Key) -> Any:
            value, spec = key
            is_whole = place.shape(spec) == value.shape
            return extra[value] if is_whole else place.of(extra[value], spec)

        return self.recipe.tiles(read, place)

    def _with_factors(
        self, made: Any, side: int, product: Product, shift: Any, extra: Mapping[Value, Any]
    ) -> Any:
        known = self.known(extra)
        term = product.exponential
        if term is not None and term.shifts is not None:
            now = subtracted(shift)
            for each in term.shifts:
                now = now + each.sign * array_of(known, each.wanted).astype(now.dtype)
            half = self._laid(jnp.exp(now / 2), side, term.spec, term.path, made.dtype)
            made = made * half * half  # the whole may be too large or too small for the type
        for factor in product.factors:
            made = self._with_factor(made, side, factor, known)
        return made

    def _with_factor(self, made: Any, side: int, factor: Factor, known: Mapping[Key, Any]) -> Any:
        if factor.wanted is None:
            return -made
        array = array_of(known, factor.wanted)
        if factor.kind in ("where", "unless"):
            return kept(factor.kind, self._laid(array, side, factor.spec, factor.path, bool), made)
        array = self._laid(array, side, factor.spec, factor.path, made.dtype)
        return made * array if factor.kind == "mul" else made / array

    def _laid(self, array: Any, side: int, spec: Spec, path: Path, dtype: Any) -> Any:
        """In the axes of the result."""
        array = jnp.asarray(array).astype(dtype)
        if array.ndim == 0:
            return array
        array = jnp.broadcast_to(array, tile_shape(spec, self._sizes))
        return spread(self.plan.node, side, along(path, array, self._sizes))


def shift_of(plan: Plan) -> RunningMax | None:
    """The running maximum of a plan's exponential."""
    found = plan.exponential
    return None if found is None else RunningMax(found[1].key, plan.role)


def array_of(known: Mapping[Key, Any], wanted: Wanted) -> Any:
    return jnp.asarray(wanted.value) if isinstance(wanted, Literal) else known[wanted]


def _contracted(
    exchange: Exchange,
    node: Node,
    source: Any,
    extra: Mapping[Value, Any],
    of: Callable[[Any], Any],
) -> Any:
    """The sum of the other's products with what is accumulated, over what only they have."""
    other = of(other_of(exchange, extra).astype(source.dtype))
    letters = dict(zip(_names(exchange), string.ascii_letters, strict=False))

    def named(labels: Any) -> str:
        return "".join(letters[label] for label in labels if label is not None)

    def real(array: Any, labels: Any) -> Any:
        pairs = zip(array.shape, labels, strict=True)
        return array.reshape([d for d, label in pairs if label is not None])

    made = jnp.einsum(
        f"{named(exchange.other_labels)},{named(exchange.source_labels)}->{named(exchange.out_labels)}",
        real(other, exchange.other_labels),
        real(source, exchange.source_labels),
        precision=lax.Precision.HIGHEST,
    )
    return made.reshape(node.output.shape)


def other_of(exchange: Exchange, extra: Mapping[Value, Any]) -> Any:
    other = exchange.other
    return jnp.asarray(other.value if isinstance(other, Literal) else extra[other])


def _names(exchange: Exchange) -> list[str]:
    labels = (*exchange.other_labels, *exchange.source_labels, *exchange.out_labels)
    return list(dict.fromkeys(label for label in labels if label is not None))


def _beside(node: Node, extra: Mapping[Value, Any]) -> Any:
    given = node.inputs[BESIDE[node.name]]
    return jnp.asarray(given.value if isinstance(given, Literal) else extra[given])


def _filled(node: Node, picked: Any, extra: Mapping[Value, Any]) -> Any:
    """Where an index is out of bounds, what the gather says should be there."""
    if clips(node):
        return picked
    indices = widened(_beside(node, extra))
    outside = jnp.zeros(picked.shape, bool)
    for column, axis in enumerate(node.params["dimension_numbers"].start_index_map):
        at = indices[..., column]
        outside = outside | (at < 0) | (at >= node.inputs[0].shape[axis])
    return jnp.where(outside, jnp.asarray(_fill(node), picked.dtype), picked)


def _fill(node: Node) -> Any:
    given, dtype = node.params["fill_value"], node.output.dtype
    if given is not None:
        return given
    if jnp.issubdtype(dtype, jnp.inexact):
        return np.nan
    if dtype == np.bool_:
        return True
    info = np.iinfo(dtype)
    return info.min if jnp.issubdtype(dtype, jnp.signedinteger) else info.max
