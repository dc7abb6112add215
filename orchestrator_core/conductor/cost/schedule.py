"""The order in which XLA runs the kernels of a program."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Sequence

from orchestrator_core.conductor.cost.flow import Flow
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.ir.value import Value


def scheduled(kernels: Sequence[Group], flow: Flow) -> Sequence[Group]:
    """On a CPU breadth first, so that kernels may run side by side (seen in 0.10.2, 0.11.2 and
    0.12.0.1); elsewhere, and with effects, the program's own order."""
    if flow.platform != "cpu" or any(group.root.effects for group in kernels):
        return kernels
    return _breadth_first(kernels, flow)


def _breadth_first(kernels: Sequence[Group], flow: Flow) -> list[Group]:
    """First come those that wait for nothing, then whoever has waited for the first of these."""
    stored = {value for group in kernels for value in group.root.outputs}
    needs = {group: _needs(group, flow, stored) for group in kernels}
    readers: defaultdict[Value, list[Group]] = defaultdict(list)
    for group in kernels:
        for value in needs[group]:
            readers[value].append(group)
    for those in readers.values():  # XLA appends the products that it makes anew
        those.sort(key=lambda group: not flow.turned.isdisjoint(group.root.outputs))
    waits = {group: len(needs[group]) for group in kernels}
    given = [value for value in readers if value not in flow.maker]
    open_: deque[tuple[Value, ...]] = deque((value,) for value in given)
    order = [group for group in kernels if not needs[group]]
    open_.extend(group.root.outputs for group in order)
    while open_:
        for value in open_.popleft():
            for group in readers[value]:
                waits[group] -= 1
                if not waits[group]:
                    order.append(group)
                    open_.append(group.root.outputs)
    return order


def _needs(group: Group, flow: Flow, stored: Container[Value]) -> dict[Value, None]:
    """What has to be there before a kernel starts."""
    waits = (value for node in group.nodes for value in flow.waits.get(node, ()))
    return dict.fromkeys([*group.reads, *(value for value in waits if value in stored)])
