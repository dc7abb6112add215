"""Peak memory: the bytes of temporary values that live at the worst moment.

Only stored values live: from the kernel that makes them to the last that reads them. What the graph
takes and returns is not temporary.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import jax

from orchestrator_core.conductor.cost.calls import body_of
from orchestrator_core.conductor.cost.flow import Flow
from orchestrator_core.conductor.cost.fusion import Group, is_read_in_place, kernels_of
from orchestrator_core.conductor.cost.fusion_facts import IN_PLACE, READ_BEFORE, is_fused
from orchestrator_core.conductor.cost.loops import carried, initial_value
from orchestrator_core.conductor.cost.operand_copies import makes_flat, reads_flat
from orchestrator_core.conductor.cost.rules import work_by_rule
from orchestrator_core.conductor.cost.schedule import scheduled
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.found_once import found_once
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value

Carried: TypeAlias = tuple[tuple[Value, Value], ...]
"""What the body of a loop hands on, each with the input whose place it has to take in the end."""


def peak(graph: Graph, platform: str | None = None) -> int:
    """Bytes, at the worst moment, of what is neither taken nor returned by the graph."""
    return _peak(graph, platform or jax.default_backend(), None)


@found_once
def _peak(graph: Graph, platform: str, carried: Carried | None) -> int:
    """`carried`: of a graph that is the body of a loop."""
    flow, kernels = kernels_of(graph, platform)
    kernels = scheduled(kernels, flow)
    more = [0] * (len(kernels) + 1)
    for life in _lives(kernels, flow, None if carried is None else dict(carried)):
        if life.first <= life.last:
            more[life.first] += life.nbytes
            more[min(life.last + 1, len(kernels))] -= life.nbytes
    alive = itertools.accumulate(more[: len(kernels)])
    own = (inside(group.root, platform) for group in kernels)
    return max(map(operator.add, own, alive), default=0)


@dataclass
class _Life:
    """Of a place in memory: from which kernel to which it is in use.

    Attributes:
        value: the last that is there. over: what its first value may be written over.
    """

    nbytes: int
    first: int
    last: int
    value: Value
    over: frozenset[Value] = frozenset()


def _lives(
    kernels: Sequence[Group], flow: Flow, carried: Mapping[Value, Value] | None
) -> list[_Life]:
    """Places of temporary values. Those of what a program returns are used as long as they are
    free. What a loop carries is made beside the old value, unless it is written over it."""
    last = {value: at for at, group in enumerate(kernels) for value in group.reads}
    places: dict[Value, _Life] = {}
    returned: list[_Life] = []
    for at, group in enumerate(kernels):
        for value in group.root.outputs:
            over = _overwritable(group, value, at, last, flow)
            if carried and value in carried and carried[value] not in over:
                places[value] = _Life(value.nbytes, at, len(kernels), value)
            elif value in flow.returned:
                returned.append(_Life(value.nbytes, at, len(kernels), value, over))
            else:
                old = next((places[each] for each in over if each in places), None)
                place = old or _Life(value.nbytes, at, at, value, over)
                place.last, place.value = last.get(value, at), value
                places[value] = place
    distinct = {id(life): life for life in places.values()}.values()
    if carried is not None:
        return list(distinct)
    return _not_in(returned, sorted(distinct, key=lambda life: -life.nbytes))


def _overwritable(
    group: Group, value: Value, at: int, last: Mapping[Value, int], flow: Flow
) -> frozenset[Value]:
    """What this kernel is the last to read, and may write a value over."""
    dying = [old for old in group.reads if last[old] == at]
    if group.root.name in ("scan", "while"):
        first = initial_value(group.root, value)
        return frozenset(old for old in dying if first is not None and old is flow.base(first))
    if group.root.name in IN_PLACE:
        return frozenset(old for old in dying if old is flow.base(group.root.inputs[0]))
    if group.root.name in READ_BEFORE:
        own = group.root.inputs[group.root.outputs.index(value)]
        return frozenset(old for old in dying if old is flow.base(own))
    if not is_fused(group.root) or _is_fixed(value, flow):
        return frozenset()
    like = (old for old in dying if _is_like(old, value) and not _is_fixed(old, flow))
    return frozenset(old for old in like if is_read_in_place(group, old, flow))


def _is_like(old: Value, new: Value) -> bool:
    return old.shape == new.shape and old.dtype == new.dtype


def _is_fixed(value: Value, flow: Flow) -> bool:
    """Has XLA another shape for it, or is it a loop's, so that no kernel can overwrite it?"""
    maker = flow.maker.get(value)
    if maker is not None and (maker.bodies or makes_flat(maker)):
        return True
    readers = flow.readers[value]
    return bool(readers) and all(reads_flat(reader, value) for reader in readers)


def _not_in(returned: Sequence[_Life], temporary: Iterable[_Life]) -> list[_Life]:
    """Those that find no free place among the returned ones: large ones first, small places
    first."""
    places = [(place, [place]) for place in sorted(returned, key=lambda place: place.nbytes)]
    left: list[_Life] = []
    for life in temporary:
        large = (users for place, users in places if place.nbytes >= life.nbytes)
        users = next((each for each in large if _is_free(each, life)), left)
        users.append(life)
    return left


def _is_free(users: Iterable[_Life], life: _Life) -> bool:
    return all(_precedes(life, user) or _precedes(user, life) for user in users)


def _precedes(one: _Life, other: _Life) -> bool:
    return one.last < other.first or (one.last == other.first and one.value in other.over)


def _peak_of_body(node: Node, body: Graph, platform: str) -> int:
    if node.name == "cond" or len(body.outputs) < len(node.outputs):
        return _peak(body, platform, ())
    inputs, outputs = carried(node)
    pairs = zip(body.inputs[inputs], body.outputs[outputs], strict=True)
    handed_on = tuple((new, old) for old, new in pairs if isinstance(new, Value))
    return _peak(body, platform, handed_on)


def inside(node: Node, platform: str) -> int:
    """Temporary bytes that a node holds beside what it reads and makes."""
    given = node.params.get("work")
    if isinstance(given, Work):
        return given.temp_bytes
    if node.bodies:
        return max(_peak_of_body(node, body, platform) for body in node.bodies)
    called = body_of(node)
    return work_by_rule(node).temp_bytes if called is None else peak(called, platform)
