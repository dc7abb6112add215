"""The scheduling problem as a CP-SAT model; `build_model` is its table of contents.

Each constraint is a short function whose docstring is its formula in words. Intervals are
half-open; pieces and encodings that take no tick occupy nothing and have no interval.
"""

from __future__ import annotations

from ortools.sat.python import cp_model

from orchestrator_core.plan.cpsat.capacity import (
    capacity_of_workers,
    stock_of_the_cluster,
    supplies_of_workers,
)
from orchestrator_core.plan.cpsat.expand import Choice, Expanded, Unit
from orchestrator_core.plan.cpsat.implied import (
    heads_and_tails,
    makespan_after_load,
    threads_of_the_cluster,
)
from orchestrator_core.plan.cpsat.memory import memory_of_tasks_and_outputs
from orchestrator_core.plan.cpsat.occupations import pieces_occupy_workers
from orchestrator_core.plan.cpsat.symmetry import units_in_order, workers_in_order
from orchestrator_core.plan.cpsat.transfers import (
    input_after_delay,
    input_after_producer,
    transfer_of_its_own,
)
from orchestrator_core.plan.cpsat.variables import BoolVar, UnitVariables, Variables


def build_model(expanded: Expanded, lower: int = 0) -> Variables:
    """The model: minimise the makespan in ``[lower, expanded.horizon]`` ticks."""
    cp = cp_model.CpModel()
    makespan = cp.new_int_var(min(lower, expanded.horizon), expanded.horizon, "makespan")
    v = Variables(cp, expanded, makespan, lower)
    v.occupations = {w: [] for w in range(len(expanded.instance.cluster))}
    one_choice_for_each_unit(v)
    pieces_in_order(v)
    pieces_occupy_workers(v)
    input_after_producer(v)
    input_after_delay(v)
    transfer_of_its_own(v)
    supplies_of_workers(v)
    capacity_of_workers(v)
    memory_of_tasks_and_outputs(v)
    stock_of_the_cluster(v)
    makespan_after_all(v)
    heads_and_tails(v)
    makespan_after_load(v)
    threads_of_the_cluster(v)
    units_in_order(v)
    workers_in_order(v)
    cp.minimize(makespan)
    return v


def one_choice_for_each_unit(v: Variables) -> None:
    """Each unit takes exactly one choice, starts after its release, ends by its deadline, and each
    of its pieces lasts as long as the choice says."""
    for unit in v.expanded.units:
        if len(unit.choices) == 1:
            present = (v.true,)
        else:
            present = tuple(v.cp.new_bool_var("") for _ in unit.choices)
            v.cp.add_exactly_one(present)
        v.units.append(UnitVariables(present, _on(v, unit, present), *_times(v, unit, present)))


def _times(
    v: Variables, unit: Unit, present: tuple[BoolVar, ...]
) -> tuple[tuple[BoolVar, ...], tuple[BoolVar, ...]]:
    """The starts and the ends of the unit's pieces."""
    low = max(unit.release, min(choice.head for choice in unit.choices))
    high = min(unit.deadline, v.expanded.horizon - min(choice.tail for choice in unit.choices))
    starts, ends = [], []
    for k in range(len(unit.choices[0].pieces)):
        lengths = [choice.pieces[k] for choice in unit.choices]
        start = v.cp.new_int_var(low, max(low, high - min(lengths)), "")
        if len(set(lengths)) == 1:
            end = start + lengths[0]
            if low + lengths[0] > high:
                v.cp.add(end <= high)
        else:
            end = v.cp.new_int_var(low, high, "")
            v.cp.add(end == start + _sum(unit.choices, present, k))
        starts.append(start)
        ends.append(end)
    return tuple(starts), tuple(ends)


def _sum(choices: tuple[Choice, ...], present: tuple[BoolVar, ...], piece: int) -> BoolVar:
    return sum(c.pieces[piece] * taken for c, taken in zip(choices, present, strict=True))


def _on(v: Variables, unit: Unit, present: tuple[BoolVar, ...]) -> dict[int, BoolVar]:
    """For each worker a literal: the unit takes one of its choices there."""
    if len(unit.workers) == 1:
        return {unit.workers[0]: v.true}
    on: dict[int, BoolVar] = {}
    for worker in unit.workers:
        here = [x for c, x in zip(unit.choices, present, strict=True) if c.worker == worker]
        if len(here) == 1:
            on[worker] = here[0]
        else:
            on[worker] = v.cp.new_bool_var("")
            v.cp.add(on[worker] == sum(here))
    return on


def pieces_in_order(v: Variables) -> None:
    """A piece starts after the piece before it ends; pauses lie between pieces only."""
    for unit in v.units:
        for end, start in zip(unit.ends, unit.starts[1:], strict=False):
            v.cp.add(start >= end)


def makespan_after_all(v: Variables) -> None:
    """makespan >= end of every unit; those with consumers end before these anyway."""
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        if not unit.consumers:
            v.cp.add(v.makespan >= variables.end)
