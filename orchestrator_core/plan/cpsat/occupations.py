"""What takes a worker's threads and resources, and for how long: pieces, mode by mode."""

from __future__ import annotations

from collections import defaultdict

from orchestrator_core.plan.cpsat.expand import Choice
from orchestrator_core.plan.cpsat.variables import (
    BoolVar,
    IntVar,
    Occupation,
    UnitVariables,
    Variables,
    Way,
)


def pieces_occupy_workers(v: Variables) -> None:
    """If a choice is taken, each of its pieces takes the mode's threads on its worker.

    Where a unit has several modes on a worker, one interval of variable length stands for all of
    them: intervals that share their start must not meet in one cumulative, since CP-SAT 9.15 may
    then cut off the optimum (see test_modes_on_one_worker_keep_the_optimum). No interval has an end
    that is not its start and its length while it is absent: with those, too, CP-SAT loses optima.
    """
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        by_worker: dict[int, list[tuple[Choice, BoolVar]]] = defaultdict(list)
        for choice, present in zip(unit.choices, variables.present, strict=True):
            by_worker[choice.worker].append((choice, present))
        for worker, taken in by_worker.items():
            for k in range(len(variables.starts)):
                ways = [_way(v, choice, present, k) for choice, present in taken]
                every = {choice.pieces[k] for choice in unit.choices}
                v.occupations[worker] += _occupations(v, variables, worker, k, ways, every)


def _way(v: Variables, choice: Choice, present: BoolVar, piece: int) -> Way:
    threads = int(v.expanded.instance.graph.mode_threads[choice.mode])
    head = choice.head + sum(choice.pieces[:piece])
    tail = choice.tail + sum(choice.pieces[piece + 1 :])
    return Way(choice.mode, threads, choice.pieces[piece], present, head, tail)


def _occupations(
    v: Variables, unit: UnitVariables, worker: int, piece: int, ways: list[Way], every: set[int]
) -> list[Occupation]:
    start = unit.starts[piece]
    if all(way.ticks > 0 for way in ways):
        return [Occupation(_interval(v, unit, worker, piece, ways, every), tuple(ways))]
    alone = len(ways) == 1
    return [
        Occupation(
            v.cp.new_optional_fixed_size_interval_var(
                start if alone else _own_start(v, start, way.taken), way.ticks, way.taken, ""
            ),
            (way,),
        )
        for way in ways
        if way.ticks > 0
    ]


def _interval(
    v: Variables, unit: UnitVariables, worker: int, piece: int, ways: list[Way], every: set[int]
) -> IntVar:
    """While the piece runs on this worker. `every`: its ticks wherever it runs."""
    here, start, lengths = unit.on[worker], unit.starts[piece], {way.ticks for way in ways}
    if len(lengths) == 1 and len(unit.on) == 1:
        return v.cp.new_fixed_size_interval_var(start, lengths.pop(), "")
    if len(lengths) == 1:
        return v.cp.new_optional_fixed_size_interval_var(start, lengths.pop(), here, "")
    length = v.cp.new_int_var_from_domain(_domain(every), "")
    same = v.cp.add(length == sum(way.ticks * way.taken for way in ways))
    if len(unit.on) == 1:
        return v.cp.new_interval_var(start, length, unit.ends[piece], "")
    same.only_enforce_if(here)
    v.cp.add(unit.ends[piece] == start + length)
    return v.cp.new_optional_interval_var(start, length, unit.ends[piece], here, "")


def _domain(values: set[int]) -> IntVar:
    from ortools.sat.python import cp_model

    return cp_model.Domain.from_values(sorted(values))


def _own_start(v: Variables, start: IntVar, taken: BoolVar) -> IntVar:
    """A start for one choice, equal to the unit's if the choice is taken."""
    own = v.cp.new_int_var(0, v.expanded.horizon, "")
    v.cp.add(own == start).only_enforce_if(taken)
    return own
