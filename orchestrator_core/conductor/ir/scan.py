"""Scans taken apart and put together, with other constants, carries, inputs or outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.evaluate import traced
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Value


@dataclass(frozen=True, eq=False, slots=True)
class Scan:
    """``lax.scan``: for each index of `xs` the body, which hands its carry on to the next index.

    Attributes:
        consts: what every step reads whole. carry: as it is before the first step.
        xs: arrays with a leading axis of `length`, of which each step reads one slice.
        last: the carry after the last step. ys: what the steps have made, stacked.
        body: takes constants, carry and slices, in this order, and returns carry and slices.
        reverse: from the last index to the first; slices stay at their indices.
        unroll: steps that are written out in one turn of the compiled loop.
        effects, source, context: those of a node.
    """

    consts: tuple[Atom, ...]
    carry: tuple[Atom, ...]
    xs: tuple[Atom, ...]
    last: tuple[Value, ...]
    ys: tuple[Value, ...]
    body: Graph
    length: int
    reverse: bool = False
    unroll: int = 1
    effects: frozenset[object] = frozenset()
    source: str = ""
    context: Callable[[], Any] | None = None

    @classmethod
    def of(cls, node: Node) -> Scan:
        """What a node named ``scan`` is."""
        consts, carry = _jax.scan_counts(node.params)
        (body,) = node.bodies
        return cls(
            node.inputs[:consts],
            node.inputs[consts : consts + carry],
            node.inputs[consts + carry :],
            node.outputs[:carry],
            node.outputs[carry:],
            body,
            node.params["length"],
            node.params["reverse"],
            node.params["unroll"],
            node.effects,
            node.source,
            node.context,
        )

    def node(self) -> Node:
        """As a node, into whose body later rewrites can go. The body's jaxpr is traced anew."""
        return of_primitive(
            _jax.scan_p,
            (*self.consts, *self.carry, *self.xs),
            (*self.last, *self.ys),
            _jax.scan_params(
                traced(self.body),
                (len(self.consts), len(self.carry), len(self.xs), len(self.ys)),
                length=self.length,
                reverse=self.reverse,
                unroll=self.unroll,
            ),
            bodies=(self.body,),
            effects=self.effects,
            source=self.source,
            context=self.context,
        )

    @property
    def const_inputs(self) -> tuple[Value, ...]:
        """The constants, as the body knows them."""
        return self.body.inputs[: len(self.consts)]

    @property
    def carry_inputs(self) -> tuple[Value, ...]:
        """The carry that a step gets, as the body knows it."""
        return self.body.inputs[len(self.consts) :][: len(self.carry)]

    @property
    def x_inputs(self) -> tuple[Value, ...]:
        """The slices that a step reads, as the body knows them."""
        return self.body.inputs[len(self.consts) + len(self.carry) :]

    @property
    def carry_outputs(self) -> tuple[Atom, ...]:
        """The carry that a step hands on, as the body knows it."""
        return self.body.outputs[: len(self.carry)]

    @property
    def y_outputs(self) -> tuple[Atom, ...]:
        """The slices that a step makes, as the body knows them."""
        return self.body.outputs[len(self.carry) :]


def stacked(slice_: Atom, length: int) -> Value:
    """A new value for what a scan of `length` steps makes of one slice for each step."""
    aval = slice_.aval
    return Value(aval.update(shape=(length, *aval.shape), weak_type=False))
