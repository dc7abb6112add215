"""Which keys a query sees, by their positions.

A mask that follows from the program alone is worked out, so that it does not matter how it is
written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.facts.number_types import counts_to
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.kernels.attention.reading import Other, Reading, parts_of

MOST = 2**27
"""Elements of a mask that is worked out."""


@dataclass(frozen=True)
class Mask:
    """Attributes:
    window: a query sees so many keys, itself the last; None if it sees all that are not later.
    fill: what scores of keys that it does not see are set to.
    """

    window: int | None
    fill: float


def window_of(reading: Reading, which: Key, query: Role, keys: Role) -> int | None:
    """Of a mask that is true where a query sees a key: how many it sees, None if all before it.

    Raises:
        Other: if it is another mask.
    """
    which = _restricting(reading, which)
    if _by_position(reading, which) == (query, keys):
        return None
    with _jax.no_trace():  # somebody may be tracing
        seen = _worked_out(reading.graph, which, query, keys)
        many = int(seen[-1].sum())
        rows, columns = (jnp.arange(size) for size in seen.shape)
        distance = rows[:, None] - columns[None, :]
        if not bool((seen == ((distance >= 0) & (distance < many))).all()):
            raise Other
    return None if many == len(rows) else many


def _restricting(reading: Reading, which: Key) -> Key:
    """Without what is true everywhere."""
    while (node := reading.graph.producer.get(which[0])) is not None and node.name == "and":
        operands = reading.values(node, which[1])
        left = [each for each in operands if reading.number(each[0]) != 1]
        if len(left) != 1:
            break
        which = reading.origin(left[0])
    return which


def _by_position(reading: Reading, which: Key) -> tuple[Role | None, ...]:
    """Of what axes it compares positions, if it asks whether one is not before another."""
    node = reading.graph.producer.get(which[0])
    if node is None or node.name != "ge":
        return ()
    found = [reading.origin(each) for each in reading.values(node, which[1])]
    return tuple(_counted(reading, each) for each in found)


def _counted(reading: Reading, key: Key) -> Role | None:
    """The role that a value counts along, from zero, if its type can count so far."""
    node = reading.graph.producer.get(key[0])
    if node is None or node.name != "iota":
        return None
    parts = key[1][node.params["dimension"]]
    is_exact = counts_to(node.output.dtype, node.output.shape[node.params["dimension"]])
    return parts[0][1] if len(parts) == 1 and is_exact else None


def _worked_out(graph: Graph, which: Key, query: Role, keys: Role) -> Any:
    """(queries, keys) truth values.

    Raises:
        Other: if it depends on what the function is given, or on more than positions.
    """
    value, spec = which
    roles = [role for _, role in parts_of(spec)]
    if sorted(map(str, roles)) != sorted((query, keys)) or value.size > MOST:
        raise Other
    alone = _made_of_nothing(graph, which)
    (made,) = evaluate(alone, [])
    made = jnp.reshape(made, [size for size, _ in parts_of(spec)])
    return made if roles == [query, keys] else made.T


def _made_of_nothing(graph: Graph, key: Key) -> Graph:
    """What makes a value that needs nothing that the function is given."""
    alone = pruned(Graph((), (key[0],), graph.nodes, graph.constants))
    read = {key[0], *(each for node in alone.nodes for each in node.inputs)}
    if not read.isdisjoint(graph.inputs) or any(node.effects for node in alone.nodes):
        raise Other
    return alone
