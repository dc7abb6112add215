"""Warm start: a schedule enters the model through `hint`, the only place that sets hints."""

from __future__ import annotations

from typing import Any

from ortools.sat.python import cp_model

from orchestrator_core.plan.cpsat.canonical import canonical
from orchestrator_core.plan.cpsat.rough import piece_starts
from orchestrator_core.plan.cpsat.variables import Variables
from orchestrator_core.plan.schedule import Assignment, Schedule


def hint(v: Variables, schedule: Schedule | None) -> None:
    """Let the search begin at this schedule, or nowhere; earlier hints are forgotten."""
    v.cp.clear_hints()
    if schedule is None:
        return
    renamed = canonical(v.expanded, schedule)
    index = v.expanded.instance.cluster.index
    place = [index[row.worker] for row in renamed.assignments]
    ends = [_hint_unit(v, u, row) for u, row in enumerate(renamed.assignments)]
    v.cp.add_hint(v.makespan, max(ends, default=0))
    _hint_transfers(v, renamed, place, ends)


def _hint_unit(v: Variables, u: int, row: Assignment) -> int:
    """Hints the unit's choice and times; returns its end."""
    instance, unit, variables = v.expanded.instance, v.expanded.units[u], v.units[u]
    taken = (int(instance.graph.mode_ptr[unit.task]) + row.mode, instance.cluster.index[row.worker])
    end = 0
    for choice, present in zip(unit.choices, variables.present, strict=True):
        _hint(v, present, (choice.mode, choice.worker) == taken)
        if (choice.mode, choice.worker) == taken:
            for k, start in enumerate(piece_starts(v.expanded.ticks, row, choice)):
                end = start + choice.pieces[k]
                v.cp.add_hint(variables.starts[k], start)
                if variables.ends[k] is not variables.starts[k]:
                    _hint(v, variables.ends[k], end)
    return end


def _hint(v: Variables, variable: Any, value: int) -> None:
    """Expressions and constants need no hint."""
    if isinstance(variable, cp_model.IntVar) and variable.index != v.true.index:
        v.cp.add_hint(variable, value)


def _hint_transfers(v: Variables, schedule: Schedule, place: list[int], ends: list[int]) -> None:
    instance = v.expanded.instance
    sent_at = {
        (instance.graph.index[t.task], t.instance, instance.cluster.index[t.destination]): t.start
        for t in schedule.transfers
    }
    for (u, destination), transfer in v.transfers.items():
        unit = v.expanded.units[u]
        needed = any(place[c] == destination for c in unit.consumers)
        start = sent_at.get((unit.task, unit.number, destination), 0.0)
        v.cp.add_hint(transfer.start, max(ends[u], v.expanded.ticks.floor(start)))
        for source, sent in transfer.sent_from.items():
            v.cp.add_hint(sent, needed and source == place[u])
