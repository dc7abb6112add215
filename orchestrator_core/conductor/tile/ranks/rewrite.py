"""`top_k`, `argmax` and `argmin` of large values, as one array that tiles can add to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost import Work
from orchestrator_core.conductor.facts.intervals.interval import is_real
from orchestrator_core.conductor.facts.transfer.ranks import K_LARGEST, LARGEST_NUMBERS
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.only_in_tiles import not_alone
from orchestrator_core.conductor.tile.ranks.order import key_type, numbers_of

KINDS = ("top_k", "argmax", "argmin")


def with_ranks(graph: Graph, is_large: Callable[[Atom], bool]) -> Graph:
    """The same function."""
    made = {
        node: _split(node)
        for node in graph.nodes
        if node.name in KINDS and is_large(node.inputs[0]) and _is_ranked(node)
    }
    if not made:
        return graph
    return graph.with_nodes([new for node in graph.nodes for new in made.get(node, [node])])


def _is_ranked(node: Node) -> bool:
    return is_real(node.inputs[0].dtype) and node.outputs[0].size > 0


def _split(node: Node) -> list[Node]:
    """The best pairs of key and place, and what is read off them."""
    (given,) = node.inputs
    axis, k = _axis(node), node.params.get("k", 1)
    batch = [size for at, size in enumerate(given.shape) if at != axis]
    best = Value(_jax.ShapedArray((*batch, k, 2), key_type(given.dtype)))
    params = {"kind": node.name, "axis": axis, "k": k}
    kept = Node(K_LARGEST, (given,), (best,), not_alone, params, source=node.source)
    return [kept, *_read(node, best, axis)]


def _read(node: Node, best: Value, axis: int) -> list[Node]:
    *numbers, places = node.outputs
    made = [_node(LARGEST_NUMBERS, node, best, value, axis, _numbers) for value in numbers]
    return [*made, _node("largest_places", node, best, places, axis, _places)]


def _node(
    name: str,
    like: Node,
    best: Value,
    made: Value,
    axis: int,
    read: Callable[[Any, Any], Any],
) -> Node:
    def apply(arrays: Sequence[Any]) -> list[Any]:
        (pairs,) = arrays
        found = read(pairs, made.dtype)
        return [jnp.moveaxis(found, -1, axis).reshape(made.shape)]

    work = Work(flops=2.0 * made.size, nbytes=float(best.nbytes + made.nbytes), kernels=1.0)
    return Node(name, (best,), (made,), apply, {"work": work}, source=like.source)


def _numbers(pairs: Any, dtype: Any) -> Any:
    return numbers_of(pairs[..., 0], dtype)


def _places(pairs: Any, dtype: Any) -> Any:
    return (~pairs[..., 1]).astype(dtype)


def _axis(node: Node) -> int:
    axis = node.params["axis"] if node.name == "top_k" else node.params["axes"][0]
    return int(axis) % len(node.inputs[0].shape)
