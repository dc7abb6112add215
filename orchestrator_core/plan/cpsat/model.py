"""The scheduling problem as a CP-SAT model; `build_model` is its table of contents.

Each constraint is a short function whose docstring is its formula in words. Intervals are
half-open; pieces and encodings that take no tick occupy nothing and have no interval.
"""

from __future__ import annotations

from itertools import pairwise

from ortools.sat.python import cp_model

from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.plan.cpsat.expand import Choice, Expanded, Unit
from orchestrator_core.plan.cpsat.memory import memory_of_tasks_and_outputs
from orchestrator_core.plan.cpsat.symmetry import unit_groups, worker_classes
from orchestrator_core.plan.cpsat.transfers import (
    input_after_delay,
    input_after_producer,
    transfer_of_its_own,
)
from orchestrator_core.plan.cpsat.units import whole_units
from orchestrator_core.plan.cpsat.variables import (
    BoolVar,
    IntVar,
    Occupation,
    UnitVariables,
    Variables,
)


def build_model(expanded: Expanded, lower: int = 0) -> Variables:
    """The model: minimise the makespan in ``[lower, expanded.horizon]`` ticks."""
    cp = cp_model.CpModel()
    makespan = cp.new_int_var(min(lower, expanded.horizon), expanded.horizon, "makespan")
    v = Variables(cp, expanded, makespan)
    v.occupations = {w: [] for w in range(len(expanded.instance.cluster))}
    one_choice_for_each_unit(v)
    pieces_in_order(v)
    pieces_occupy_workers(v)
    input_after_producer(v)
    input_after_delay(v)
    transfer_of_its_own(v)
    threads_of_workers(v)
    resources_of_workers(v)
    memory_of_tasks_and_outputs(v)
    stock_of_the_cluster(v)
    makespan_after_all(v)
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
        present = tuple(v.cp.new_bool_var("") for _ in unit.choices)
        v.cp.add_exactly_one(present)
        count = len(unit.choices[0].pieces)
        low, high = unit.release, unit.deadline
        starts = tuple(v.cp.new_int_var(low, high, "") for _ in range(count))
        ends = tuple(v.cp.new_int_var(low, high, "") for _ in range(count))
        for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
            v.cp.add(end == start + _sum(unit.choices, present, k))
        v.units.append(UnitVariables(present, _on(v, unit, present), starts, ends))


def _sum(choices: tuple[Choice, ...], present: tuple[BoolVar, ...], piece: int) -> BoolVar:
    return sum(c.pieces[piece] * taken for c, taken in zip(choices, present, strict=True))


def _on(v: Variables, unit: Unit, present: tuple[BoolVar, ...]) -> dict[int, BoolVar]:
    """For each worker a literal: the unit takes one of its choices there."""
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


def pieces_occupy_workers(v: Variables) -> None:
    """If a choice is taken, each of its pieces takes the mode's threads on its worker."""
    threads = v.expanded.instance.graph.mode_threads
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        for choice, present in zip(unit.choices, variables.present, strict=True):
            alone = sum(other.worker == choice.worker for other in unit.choices) == 1
            for k, ticks in enumerate(choice.pieces):
                if ticks > 0:
                    start = variables.starts[k] if alone else _own_start(v, variables, k, present)
                    interval = v.cp.new_optional_fixed_size_interval_var(start, ticks, present, "")
                    occupied = Occupation(
                        interval, present, ticks, int(threads[choice.mode]), choice.mode
                    )
                    v.occupations[choice.worker].append(occupied)


def _own_start(v: Variables, unit: UnitVariables, piece: int, present: BoolVar) -> IntVar:
    """A start for one choice, equal to the unit's if the choice is taken."""
    # CP-SAT 9.15 may cut off the optimum where intervals of one cumulative share their start: see
    # test_modes_on_one_worker_keep_the_optimum.
    start = v.cp.new_int_var(0, v.expanded.horizon, "")
    v.cp.add(start == unit.starts[piece]).only_enforce_if(present)
    return start


def threads_of_workers(v: Variables) -> None:
    """At every moment on every worker: threads of running pieces + one for each running encoding
    <= threads."""
    for w, worker in enumerate(v.expanded.instance.cluster.workers):
        taken = v.occupations[w]
        if sum(o.threads for o in taken) <= worker.threads:
            continue
        if all(2 * o.threads > worker.threads for o in taken):
            v.cp.add_no_overlap([o.interval for o in taken])
        else:
            v.cp.add_cumulative(
                [o.interval for o in taken], [o.threads for o in taken], worker.threads
            )


def resources_of_workers(v: Variables) -> None:
    """At every moment on every worker, for each resource: what running pieces occupy <= supply."""
    graph = v.expanded.instance.graph
    for w, worker in enumerate(v.expanded.instance.cluster.workers):
        for name, supply in worker.resources.items():
            users = [
                (o.interval, amount)
                for o in v.occupations[w]
                if o.mode is not None and (amount := _of(graph.demand(o.mode).resources, name)) > 0
            ]
            demands, capacity = whole_units([amount for _, amount in users], supply)
            if sum(demands) > capacity:
                v.cp.add_cumulative([interval for interval, _ in users], demands, capacity)


def stock_of_the_cluster(v: Variables) -> None:
    """Over the whole schedule, for each stock: what all units consume <= stock."""
    instance = v.expanded.instance
    for name in sorted({name for demand in instance.graph.demands for name in demand.consumes}):
        users = [
            (present, amount)
            for unit, variables in zip(v.expanded.units, v.units, strict=True)
            for choice, present in zip(unit.choices, variables.present, strict=True)
            if (amount := _of(instance.graph.demand(choice.mode).consumes, name)) > 0
        ]
        stock = _of(instance.cluster.stock, name)
        demands, capacity = whole_units([amount for _, amount in users], stock)
        if sum(demands) > capacity:
            v.cp.add(sum(d * x for d, (x, _) in zip(demands, users, strict=True)) <= capacity)


def _of(amounts: Amounts, name: str) -> float:
    return amounts.get(name, 0.0)


def makespan_after_all(v: Variables) -> None:
    """makespan >= end of every unit; those with consumers end before these anyway."""
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        if not unit.consumers:
            v.cp.add(v.makespan >= variables.end)


def makespan_after_load(v: Variables) -> None:
    """Implied, for a better bound: threads * makespan >= thread ticks of all that a worker does."""
    for w, worker in enumerate(v.expanded.instance.cluster.workers):
        if taken := v.occupations[w]:
            work = sum(o.threads * o.ticks * o.present for o in taken)
            v.cp.add(worker.threads * v.makespan >= work)


def threads_of_the_cluster(v: Variables) -> None:
    """Implied, for a better bound: wherever they run, the shortest times of all pieces fit on all
    threads together."""
    graph = v.expanded.instance.graph
    intervals, demands = [], []
    for unit, variables in zip(v.expanded.units, v.units, strict=True):
        threads = min(int(graph.mode_threads[choice.mode]) for choice in unit.choices)
        for k, start in enumerate(variables.starts):
            ticks = min(choice.pieces[k] for choice in unit.choices)
            if ticks > 0:
                intervals.append(v.cp.new_fixed_size_interval_var(start, ticks, ""))
                demands.append(threads)
    supply = sum(worker.threads for worker in v.expanded.instance.cluster.workers)
    if sum(demands) > supply and len(v.expanded.instance.cluster) > 1:
        v.cp.add_cumulative(intervals, demands, supply)


def units_in_order(v: Variables) -> None:
    """Symmetry: exchangeable units are numbered by start."""
    for group in unit_groups(v.expanded):
        for (a, *_), (b, *_) in pairwise(group):
            v.cp.add(v.units[a].start <= v.units[b].start)


def workers_in_order(v: Variables) -> None:
    """Symmetry: of exchangeable workers, a unit may take the next one only if an earlier unit has
    taken the one before."""
    for workers in worker_classes(v.expanded.instance):
        for k, worker in enumerate(workers):
            for u in range(len(v.units) if k else 0):
                if worker in v.units[u].on:
                    before = [v.units[e].on[workers[k - 1]] for e in _earlier(v, u, worker)]
                    v.cp.add_bool_or([v.units[u].on[worker].negated(), *before])


def _earlier(v: Variables, u: int, worker: int) -> list[int]:
    return [e for e in range(u) if worker in v.units[e].on]
