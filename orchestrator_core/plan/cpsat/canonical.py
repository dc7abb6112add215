"""A schedule renamed to the representative that the symmetry constraints of the model keep."""

from __future__ import annotations

from dataclasses import replace

from orchestrator_core.plan.cpsat.expand import Expanded
from orchestrator_core.plan.cpsat.symmetry import unit_groups, worker_classes
from orchestrator_core.plan.schedule import Schedule

_Names = dict[tuple[str, int], int]


def canonical(expanded: Expanded, schedule: Schedule) -> Schedule:
    """An equally good schedule, exchangeable units numbered by start, then exchangeable workers
    named in the order in which the units meet them."""
    number = _numbers(expanded, schedule)
    rows = [replace(a, instance=number[a.task, a.instance]) for a in schedule.assignments]
    index = expanded.instance.graph.index
    rows.sort(key=lambda a: expanded.unit_of[index[a.task], a.instance])
    called = _worker_names(expanded, [row.worker for row in rows])
    return Schedule(
        [replace(row, worker=called[row.worker]) for row in rows],
        [
            replace(
                t,
                instance=number[t.task, t.instance],
                source=called[t.source],
                destination=called[t.destination],
            )
            for t in schedule.transfers
        ],
    )


def _numbers(expanded: Expanded, schedule: Schedule) -> _Names:
    """(task, instance) -> its instance after exchanges of units."""
    names = expanded.instance.graph.names
    number: _Names = {(a.task, a.instance): a.instance for a in schedule.assignments}
    start = {(a.task, a.instance): a.start for a in schedule.assignments}
    for group in unit_groups(expanded):
        columns = [
            [(names[expanded.units[u].task], expanded.units[u].number) for u in column]
            for column in group
        ]
        for new, old in zip(columns, sorted(columns, key=lambda c: start[c[0]]), strict=True):
            for (_, to), key in zip(new, old, strict=True):
                number[key] = to
    return number


def _worker_names(expanded: Expanded, met: list[str]) -> dict[str, str]:
    """Worker -> its name after exchanges, `met` being the workers of the units in their order."""
    names = expanded.instance.cluster.names
    called = {name: name for name in names}
    for workers in worker_classes(expanded.instance):
        ours = [names[w] for w in workers]
        order = list(dict.fromkeys([name for name in met if name in ours] + ours))
        called.update(zip(order, ours, strict=True))
    return called
