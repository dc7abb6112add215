"""Each criterion as a linear expression of the time-indexed program, and what one of it is worth.

The definitions are those of `objectives/values.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from orchestrator_core.plan.time_indexed.limits import takers_of_memory
from orchestrator_core.plan.time_indexed.parts import Steps, whole_amounts
from orchestrator_core.plan.time_indexed.program import Program

SECONDS_PER_HOUR = 3600.0


class Criterion(NamedTuple):
    """The value is `unit * expression`; the expression has whole values."""

    expression: Any
    unit: float


def criterion_of(program: Program, name: str) -> Criterion:
    """The criterion, with the variables and constraints that it needs."""
    return _CRITERIA[name](program)


def _makespan(program: Program) -> Criterion:
    """z >= completion of each job = the ticks at which it is not completed yet."""
    z = program.model.new_int_var(0, program.horizon, "z")
    for job in program.jobs:
        late = sum(1 - job.completed(None, t) for t in range(program.horizon))
        program.model.add(z >= late)
    return Criterion(z, program.tick)


def _tardiness(program: Program) -> Criterion:
    """The ticks from each job's due date on at which it is not completed yet."""
    graph = program.instance.graph
    late = [job for job in program.jobs if math.isfinite(graph.due[job.task])]
    whole, unit = _whole([float(graph.weight[job.task]) for job in late], "weight")
    total: Any = program.model.new_constant(0)
    for k, job in zip(whole, late, strict=True):
        due = program.ticks(float(graph.due[job.task]), f"the due date of {job.task}")
        total += k * sum(1 - job.completed(None, t) for t in range(due, program.horizon))
    return Criterion(total, unit * program.tick)


def _price(program: Program) -> Criterion:
    """The ticks for which a worker is opened and not closed. It is opened by what starts on it or
    arrives; it stays open until all is completed on it and has arrived from it and at it, which it
    has to within the horizon: what is later would not be counted."""
    whole, unit = _whole([w.price for w in program.instance.cluster.workers], "price")
    total: Any = program.model.new_constant(0)
    for d, k in enumerate(whole):
        if k > 0:
            opened, closed = program.steps(0), program.steps(0)
            _open(program, d, opened)
            _close(program, d, opened, closed)
            total += k * sum(opened.at(t) - closed.at(t) for t in range(program.horizon + 1))
    return Criterion(total, unit * program.tick / SECONDS_PER_HOUR)


def _open(program: Program, d: int, opened: Steps) -> None:
    for t in range(program.horizon + 1):
        for job in program.jobs:
            program.model.add(opened.at(t) >= job.started(d, t))
        for (_, _, destination), sent in program.sent.items():
            if destination == d:
                program.model.add(opened.at(t) >= sent.at(t))


def _close(program: Program, d: int, opened: Steps, closed: Steps) -> None:
    program.model.add(closed.ever == opened.ever)
    for t in range(program.horizon + 1):
        program.model.add(closed.at(t) <= opened.at(t))
        for job in program.jobs:
            unfinished = job.completed(d, program.horizon) - job.completed(d, t)
            program.model.add(closed.at(t) + unfinished <= 1)
        for (j, source, destination), sent in program.sent.items():
            if d in (source, destination):
                nbytes = program.output_bytes(program.jobs[j])
                way = program.transit_ticks(source, destination, nbytes)
                program.model.add(closed.at(t) + sent.ever - sent.at(t - way) <= 1)


def _busy_price(program: Program) -> Criterion:
    """Threads times ticks of every way that is taken and of every encoding."""
    cluster, graph = program.instance.cluster, program.instance.graph
    per_thread = [worker.price / worker.threads for worker in cluster.workers]
    whole, unit = _whole(per_thread, "price per thread")
    total: Any = program.model.new_constant(0)
    for job in program.jobs:
        for way in job.ways:
            ticks = sum(way.length) * int(graph.mode_threads[way.mode])
            total += whole[way.worker] * ticks * way.done[-1].ever
    for (j, source, destination), sent in program.sent.items():
        ticks = program.encode_ticks(program.jobs[j], source, destination)
        total += whole[source] * ticks * sent.ever
    return Criterion(total, unit * program.tick / SECONDS_PER_HOUR)


def _memory(program: Program) -> Criterion:
    """peak >= what is taken on each worker in each tick."""
    takers = [takers_of_memory(program, d) for d in program.workers]
    needs = [need for each in takers for need, _ in each]
    whole, unit = _whole(needs, "bytes")
    peak = program.model.new_int_var(0, sum(whole), "peak")
    numbers = iter(whole)
    for each in takers:
        mine = [next(numbers) for _ in each]
        for t in range(program.horizon if each else 0):
            total = sum(k * taken(t) for k, (_, taken) in zip(mine, each, strict=True))
            program.model.add(peak >= total)
    return Criterion(peak, unit)


def _whole(amounts: list[float], what: str) -> tuple[list[int], float]:
    """The amounts in whole units, and the unit."""
    if not any(amounts):
        return [0 for _ in amounts], 1.0
    largest = max(amounts)
    whole, most = whole_amounts(amounts, largest, what)
    return whole, largest / most


_CRITERIA: dict[str, Callable[[Program], Criterion]] = {
    "makespan": _makespan,
    "tardiness": _tardiness,
    "price": _price,
    "busy-price": _busy_price,
    "memory": _memory,
}
