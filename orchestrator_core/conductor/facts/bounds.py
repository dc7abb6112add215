"""Differences that are never above zero: of a value and of its largest element along some axes."""

from __future__ import annotations

from typing import TypeAlias

from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal

COPIES = ("copy", "copy_p", "stop_gradient", "name", "optimization_barrier")

Labels: TypeAlias = tuple[int | None, ...]
"""For each axis of a value, along which axis of the difference it runs; None of one element."""


def is_below_zero(flow: Dataflow, node: Node) -> bool:
    """Is it proven of a difference that no element of it is above zero, infinity and NaN aside?"""
    if node.name != "sub" or isinstance(node.inputs[0], Literal):
        return False
    given, bound = node.inputs
    if given.shape != node.output.shape:
        return False
    labels = tuple(k if d != 1 else None for k, d in enumerate(bound.shape))
    return _bounds(flow, _origin(flow, given), bound, labels)


def _bounds(flow: Dataflow, given: Atom, bound: Atom, labels: Labels) -> bool:
    """Is the one, at the same place along the labelled axes, nowhere above the other?"""
    seen: set[tuple[Atom, Labels]] = set()
    open_ = [(bound, labels)]
    while open_:
        at = open_.pop()
        node = flow.node_of(at[0])
        if node is None or at in seen:
            continue
        seen.add(at)
        if node.name != "reduce_max":
            open_ += _no_larger(flow, node, at[1])
        elif _origin(flow, node.inputs[0]) is given and _runs_along(node, at[1]):
            return True
    return False


def _no_larger(flow: Dataflow, node: Node, labels: Labels) -> list[tuple[Atom, Labels]]:
    """Of what it reads, that which its result is nowhere below, infinity and NaN aside."""
    if node.name == "max":
        return [(each, labels if each.shape else ()) for each in node.inputs]
    if node.name == "select_n" and len(node.inputs) == 3:
        chosen = node.inputs[2]
        return [(chosen, labels)] if _is_finite(flow, node.inputs[0], chosen) else []
    moved = _moved(node, labels)
    return [] if moved is None else [(node.inputs[0], moved)]


def _is_finite(flow: Dataflow, which: Atom, value: Atom) -> bool:
    """Does a truth value tell where the other is finite?"""
    node = flow.node_of(which)
    if node is None or node.name != "is_finite":
        return False
    return _origin(flow, node.inputs[0]) is _origin(flow, value)


def _moved(node: Node, labels: Labels) -> Labels | None:
    """Of the axes of what a view shows; None if it is no plain view."""
    if node.name in COPIES and len(node.outputs) == 1:
        return labels
    if node.name == "transpose":
        permutation = list(node.params["permutation"])
        return tuple(labels[permutation.index(k)] for k in range(len(labels)))
    if node.name == "broadcast_in_dim":
        pairs = zip(node.inputs[0].shape, node.params["broadcast_dimensions"], strict=True)
        return tuple(labels[to] if size != 1 else None for size, to in pairs)
    if node.name in RESHAPES:
        given, made = node.inputs[0].shape, node.output.shape
        if [d for d in given if d != 1] != [d for d in made if d != 1]:
            return None
        left = iter([label for label, d in zip(labels, made, strict=True) if d != 1])
        return tuple(next(left) if d != 1 else None for d in given)
    return None


def _runs_along(node: Node, labels: Labels) -> bool:
    """Does each axis that a reduction leaves run along the same axis of the difference?"""
    shape, axes = node.inputs[0].shape, set(node.params["axes"])
    left = iter(labels)
    at = [None if k in axes else next(left) for k in range(len(shape))]
    return all(k in axes or shape[k] == 1 or at[k] == k for k in range(len(shape)))


def _origin(flow: Dataflow, atom: Atom) -> Atom:
    """What a value is a copy of."""
    while (node := flow.node_of(atom)) is not None and node.name in COPIES:
        if len(node.outputs) != 1:
            break
        atom = node.inputs[0]
    return atom
