"""Reductions of axes by a monoid. A role that is reduced makes the result an accumulation."""

from __future__ import annotations

from orchestrator_core.conductor.facts.axes import Spec, roles, whole
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule
from orchestrator_core.conductor.ir.node import Node

REDUCTIONS = {
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_prod": "product",
    "reduce_and": "and",
    "reduce_or": "or",
}
"""By primitive, the monoid."""


def _back(node: Node, spec: Spec) -> list[Spec]:
    left, axes, shape = iter(spec), set(node.params["axes"]), node.inputs[0].shape
    return [tuple(whole(size) if k in axes else next(left) for k, size in enumerate(shape))]


def _forward(node: Node, place: int, spec: Spec) -> Onward:
    axes = set(node.params["axes"])
    out = tuple(axis for k, axis in enumerate(spec) if k not in axes)
    return Onward(out, (spec,), roles(spec) - roles(out))


RULES.update(dict.fromkeys(REDUCTIONS, Rule(_back, _forward, sums=True)))
