"""The time-indexed integer program: the exact oracle for tiny instances, without any interval.

With jobs j (here: each instance of each task is one), workers d and whole ticks t, q[j,d,t] says
that j is completed on d by t, and m[j,d,d2,t] that its output is encoded on d for d2 by t. The
program from which this project started reads

    (1) sum_j q[j,d,t+exec] - q[j,d,t] + sum_j,d2 m[j,d,d2,t+enc] - m[j,d,d2,t] <= threads(d)
    (2) q[j,d,t] >= sum_d2 m[j,d,d2, t+exec+enc+transit]
    (3) sum_src n * m[a,src,d,t]  vs  q[b,d,t+exec(b,d)]    for b, which needs n outputs of a
    (4) sum_d q[j,d,T] >= count(j);  minimise z, where every completion happens by z

and is corrected where that is loose:

* (2) shifted by exec: q is a completion already, so encoding may be over at t + enc for what was
  completed at t. And by transit, which takes no thread: m is "encoded by", as (1) wants it, and
  the transit moves to (3), where a consumer looks at m[a,src,d, t - transit].
* (2) summed over destinations, as if an output left its worker: it is copied. One constraint for
  each destination; all consumers there share the one transfer.
* (3) left out outputs made on d itself: q[a,d,t] is added.
* (3) had n on the side of what is there: n outputs of a are needed for each b, so n multiplies b.
  With numbered instances it vanishes: b_r needs certain outputs of a, one constraint for each.
* (4) with numbered instances: each completed exactly once, on one worker in one mode.
* Beyond T nothing is completed: an index past T means T, one before 0 means nothing yet.
* Not in the original: modes, pieces between checkpoints (each with its own q, on one worker),
  releases, deadlines, resources, stock, and memory, where u[j,d,t] says that j's output is held on
  d in [t, t+1): it is there (made; or arrived, or a consumer has started) and is used later.

It has about J * D^2 * T variables: never the production model. CP-SAT solves it to the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, UnsupportedInstance
from orchestrator_core.plan.cpsat.events import joined
from orchestrator_core.plan.cpsat.expand import inputs_of, piece_seconds, serial_seconds
from orchestrator_core.plan.cpsat.ticks import common_unit
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

MOST_VARIABLES = 200_000
"""Larger programs are refused: they would take minutes or worse."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """The smallest makespan, in seconds, and a schedule that has it."""

    makespan: float
    schedule: Schedule


def optimal_makespan(instance: Instance, tick: float, horizon: int | None = None) -> Optimum:
    """The smallest makespan of a tiny instance whose times are all whole ticks.

    Args:
        tick: seconds.
        horizon: ticks within which to look; by default enough for some optimal schedule.

    Raises:
        UnsupportedInstance: if a time is no whole number of ticks, or the program is too large.
        InfeasibleInstance: if no schedule ends within the horizon.
    """
    if horizon is None:
        horizon = math.ceil(serial_seconds(instance) / tick - 1e-9)
    program = _Program(instance, tick, horizon)
    program.refuse_if_large()
    program.state()
    return program.solve()


@dataclass(slots=True)
class _Steps:
    """0/1 variables that never fall, for the ticks 0 .. T; 0 before, the last one after."""

    values: list[Any]

    def at(self, t: int) -> Any:
        return 0 if t < 0 else self.values[min(t, len(self.values) - 1)]

    @property
    def ever(self) -> Any:
        return self.values[-1]


@dataclass(frozen=True, slots=True)
class _Way:
    """A job run in a mode on a worker: `done` and `length` in ticks, for each piece."""

    mode: int
    worker: int
    length: tuple[int, ...]
    done: tuple[_Steps, ...]

    def running(self, t: int) -> Any:
        """Does a piece run in [t, t + 1)?"""
        return sum(
            done.at(t + length) - done.at(t)
            for done, length in zip(self.done, self.length, strict=True)
            if length > 0
        )


@dataclass(slots=True)
class _Job:
    """Instance `number` of `task`; `uses` are the jobs that need its output, with their bytes."""

    task: int
    number: int
    ways: list[_Way] = field(default_factory=list)
    uses: list[tuple[int, float]] = field(default_factory=list)

    def completed(self, worker: int | None, t: int) -> Any:
        """By t, on a worker or on any."""
        return sum(w.done[-1].at(t) for w in self.ways if worker in (None, w.worker))

    def started(self, worker: int, t: int) -> Any:
        return sum(w.done[0].at(t + w.length[0]) for w in self.ways if w.worker == worker)


class _Program:
    """The integer program of one instance."""

    def __init__(self, instance: Instance, tick: float, horizon: int) -> None:
        self.instance, self.tick, self.horizon = instance, tick, horizon
        self.model = cp_model.CpModel()
        self.workers = range(len(instance.cluster))
        self.sent: dict[tuple[int, int, int], _Steps] = {}
        graph = instance.graph
        keys = [(int(t), r) for t in graph.topological for r in range(int(graph.count[t]))]
        self.jobs = [_Job(task, number) for task, number in keys]
        position = {key: j for j, key in enumerate(keys)}
        for j, (task, number) in enumerate(keys):
            for producer, k, nbytes in inputs_of(instance, task, number):
                self.jobs[position[producer, k]].uses.append((j, nbytes))

    def refuse_if_large(self) -> None:
        w = len(self.workers)
        size = sum(len(job.uses) > 0 for job in self.jobs) * w * w + len(self.jobs) * w
        if size * (self.horizon + 1) > MOST_VARIABLES:
            raise UnsupportedInstance(
                f"the time-indexed program of {len(self.jobs)} task instances on {w} workers over "
                f"{self.horizon} ticks would have about {size * (self.horizon + 1)} variables; the "
                f"oracle takes up to {MOST_VARIABLES}: use a longer tick or a smaller instance"
            )

    def state(self) -> None:
        for job in self.jobs:
            self.complete_once(job)
        for j in range(len(self.jobs)):
            self.encode_after_completion(j)
        for j, job in enumerate(self.jobs):
            for consumer, nbytes in job.uses:
                self.start_after_input(j, consumer, nbytes)
        self.fit_threads()
        self.fit_resources()
        self.fit_memory()
        self.fit_stock()
        self.finish_early()

    def ticks(self, seconds: float, what: str) -> int:
        whole = round(seconds / self.tick)
        if abs(whole * self.tick - seconds) > 1e-9 * max(1.0, seconds):
            raise UnsupportedInstance(
                f"{what} is {seconds:g} s, no whole number of ticks of {self.tick:g} s; the oracle "
                "is exact only where all times are: choose another tick"
            )
        return whole

    def steps(self, first: int) -> _Steps:
        """Steps that are 0 before `first`."""
        values = [self.model.new_bool_var("") for _ in range(self.horizon + 1)]
        for value in values[: max(first, 0)]:
            self.model.add(value == 0)
        for before, after in pairwise(values):
            self.model.add_implication(before, after)
        return _Steps(values)

    def complete_once(self, job: _Job) -> None:
        """In one mode on one worker, piece after piece, between release and deadline."""
        graph, name = self.instance.graph, self.instance.graph.names[job.task]
        release = self.ticks(float(graph.release[job.task]), f"the release of {name!r}")
        for mode in range(int(graph.mode_ptr[job.task]), int(graph.mode_ptr[job.task + 1])):
            for worker in self.workers:
                if self.instance.eligible[mode, worker]:
                    seconds = piece_seconds(self.instance, mode, worker)
                    length = tuple(self.ticks(s, f"a duration of {name!r}") for s in seconds)
                    job.ways.append(self.way(mode, worker, length, release))
        self.model.add_exactly_one(way.done[-1].ever for way in job.ways)
        deadline = float(graph.deadline[job.task]) / self.tick + 1e-9
        if deadline < self.horizon:
            self.model.add(job.completed(None, math.floor(deadline)) == 1)

    def way(self, mode: int, worker: int, length: tuple[int, ...], release: int) -> _Way:
        done = tuple(self.steps(release + sum(length[: k + 1])) for k in range(len(length)))
        for (one, other), ticks in zip(pairwise(done), length[1:], strict=True):
            self.model.add(one.ever == other.ever)
            for t in range(self.horizon - ticks + 1):
                self.model.add_implication(other.at(t + ticks), one.at(t))
        return _Way(mode, worker, length, done)

    def encode_after_completion(self, j: int) -> None:
        """m[j,d,d2, t + enc] <= q[j,d,t], for each destination that may need the output."""
        job = self.jobs[j]
        wanted = {way.worker for consumer, _ in job.uses for way in self.jobs[consumer].ways}
        for source in sorted({way.worker for way in job.ways}):
            for destination in sorted(wanted - {source}):
                encode = self.encode_ticks(job, source, destination)
                sent = self.steps(encode)
                self.sent[j, source, destination] = sent
                for t in range(self.horizon - encode + 1):
                    self.model.add(sent.at(t + encode) <= job.completed(source, t))

    def encode_ticks(self, job: _Job, source: int, destination: int) -> int:
        per_byte = float(self.instance.cluster.encode_seconds_per_byte[source, destination])
        return self.ticks(self.output_bytes(job) * per_byte, "an encoding time")

    def transit_ticks(self, source: int, destination: int, nbytes: float) -> int:
        seconds = self.instance.cluster.transfer_seconds(source, destination, nbytes)
        return self.ticks(seconds, "a transit time")

    def output_bytes(self, job: _Job) -> float:
        return float(self.instance.graph.output_bytes[job.task])

    def arrived(self, j: int, destination: int, nbytes: float, t: int) -> Any:
        """Are so many bytes of the output, sent from elsewhere, at the destination by t?"""
        return sum(
            sent.at(t - self.transit_ticks(a, destination, nbytes))
            for (job, a, b), sent in self.sent.items()
            if (job, b) == (j, destination)
        )

    def start_after_input(self, j: int, consumer: int, nbytes: float) -> None:
        """started(consumer, d, t) <= q[j,d,t] + arrived(j, d, t)."""
        for worker in sorted({way.worker for way in self.jobs[consumer].ways}):
            for t in range(self.horizon + 1):
                there = self.jobs[j].completed(worker, t) + self.arrived(j, worker, nbytes, t)
                self.model.add(self.jobs[consumer].started(worker, t) <= there)

    def ways_on(self, worker: int) -> list[_Way]:
        return [way for job in self.jobs for way in job.ways if way.worker == worker]

    def fit_threads(self) -> None:
        threads = self.instance.graph.mode_threads
        for d, worker in enumerate(self.instance.cluster.workers):
            encodes = [
                (sent, self.encode_ticks(self.jobs[j], a, b))
                for (j, a, b), sent in self.sent.items()
                if a == d
            ]
            for t in range(self.horizon):
                tasks = sum(int(threads[way.mode]) * way.running(t) for way in self.ways_on(d))
                encoding = sum(s.at(t + ticks) - s.at(t) for s, ticks in encodes if ticks > 0)
                self.model.add(tasks + encoding <= worker.threads)

    def fit_resources(self) -> None:
        graph = self.instance.graph
        for d, worker in enumerate(self.instance.cluster.workers):
            for name, supply in worker.resources.items():
                needs = [graph.demand(way.mode).resources.get(name, 0.0) for way in self.ways_on(d)]
                whole, limit = _whole(needs, supply, name)
                for t in range(self.horizon):
                    taken = [
                        k * way.running(t)
                        for k, way in zip(whole, self.ways_on(d), strict=True)
                        if k > 0
                    ]
                    if taken:
                        self.model.add(sum(taken) <= limit)

    def fit_stock(self) -> None:
        graph, cluster = self.instance.graph, self.instance.cluster
        ways = [way for job in self.jobs for way in job.ways]
        for name in sorted({name for demand in graph.demands for name in demand.consumes}):
            needs = [graph.demand(way.mode).consumes.get(name, 0.0) for way in ways]
            whole, limit = _whole(needs, cluster.stock.get(name, 0.0), name)
            used = sum(k * way.done[-1].ever for k, way in zip(whole, ways, strict=True))
            self.model.add(used <= limit)

    def fit_memory(self) -> None:
        """mode_memory of what runs + output_bytes of what is held, in each [t, t + 1)."""
        for d, worker in enumerate(self.instance.cluster.workers):
            if math.isinf(worker.memory):
                continue
            ways = [w for w in self.ways_on(d) if self.instance.graph.mode_memory[w.mode] > 0]
            held = [j for j, job in enumerate(self.jobs) if job.uses and self.output_bytes(job) > 0]
            needs = [float(self.instance.graph.mode_memory[way.mode]) for way in ways]
            needs += [self.output_bytes(self.jobs[j]) for j in held]
            whole, limit = _whole(needs, worker.memory, "memory")
            for t in range(self.horizon):
                taken = [way.running(t) for way in ways] + [self.held(j, d, t) for j in held]
                total = sum(k * x for k, x in zip(whole, taken, strict=True))
                if taken:
                    self.model.add(total <= limit)

    def held(self, j: int, worker: int, t: int) -> Any:
        """u[j,d,t] >= there + used later - 1, for all that makes it there and all later uses."""
        job, held = self.jobs[j], self.model.new_bool_var("")
        made = job.completed(worker, t)
        consumers = [self.jobs[c] for c, _ in job.uses]
        # A consumer that starts before all has arrived holds the output from its start on.
        there = [made + self.arrived(j, worker, self.output_bytes(job), t)]
        there += [consumer.started(worker, t) for consumer in consumers]
        later = [
            consumer.completed(worker, self.horizon) - consumer.completed(worker, t)
            for consumer in consumers
        ]
        for present in there:
            for use in later:
                self.model.add(held >= present + use - 1)
        for (producer, source, _), sent in self.sent.items():
            if (producer, source) == (j, worker):
                self.model.add(held >= made + sent.ever - sent.at(t) - 1)
        return held

    def finish_early(self) -> None:
        """z >= completion of each job = the ticks at which it is not completed yet."""
        z = self.model.new_int_var(0, self.horizon, "z")
        for job in self.jobs:
            late = sum(1 - job.completed(None, t) for t in range(self.horizon))
            self.model.add(z >= late)
        self.model.minimize(z)

    def solve(self) -> Optimum:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            raise InfeasibleInstance(
                f"no schedule keeps all constraints within {self.horizon} ticks of {self.tick:g} s"
            )
        if status != cp_model.OPTIMAL:
            raise UnsupportedInstance(f"CP-SAT ended with {solver.status_name(status)}")
        schedule = self.read(solver)
        return Optimum(round(solver.objective_value) * self.tick, schedule)

    def read(self, solver: cp_model.CpSolver) -> Schedule:
        taken = [
            next(way for way in job.ways if solver.boolean_value(way.done[-1].ever))
            for job in self.jobs
        ]
        rows = [self.assignment(solver, j, way) for j, way in enumerate(taken)]
        moves = [
            self.transfer(solver, j, source, destination)
            for j, source, destination in self.sent
            if source == taken[j].worker
            and any(taken[c].worker == destination for c, _ in self.jobs[j].uses)
        ]
        return Schedule(rows, moves)

    def assignment(self, solver: cp_model.CpSolver, j: int, way: _Way) -> Assignment:
        job, graph = self.jobs[j], self.instance.graph
        ends = [_first(solver, done) for done in way.done]
        segments = joined(
            [
                ((end - length) * self.tick, end * self.tick)
                for end, length in zip(ends, way.length, strict=True)
            ]
        )
        return Assignment(
            task=graph.names[job.task],
            worker=self.instance.cluster.names[way.worker],
            start=segments[0][0],
            end=segments[-1][1],
            mode=way.mode - int(graph.mode_ptr[job.task]),
            instance=job.number,
            segments=tuple(segments) if len(segments) > 1 else (),
        )

    def transfer(
        self, solver: cp_model.CpSolver, j: int, source: int, destination: int
    ) -> Transfer:
        job, names = self.jobs[j], self.instance.cluster.names
        encoded = _first(solver, self.sent[j, source, destination])
        start = encoded - self.encode_ticks(job, source, destination)
        end = encoded + self.transit_ticks(source, destination, self.output_bytes(job))
        return Transfer(
            task=self.instance.graph.names[job.task],
            source=names[source],
            destination=names[destination],
            start=start * self.tick,
            encoded=encoded * self.tick,
            end=end * self.tick,
            nbytes=self.output_bytes(job),
            instance=job.number,
        )


def _first(solver: cp_model.CpSolver, steps: _Steps) -> int:
    return next(t for t, value in enumerate(steps.values) if solver.boolean_value(value))


def _whole(needs: list[float], limit: float, what: str) -> tuple[list[int], int]:
    """Amounts as integers of a common unit."""
    unit = common_unit(sorted({need for need in needs if need > 0}))
    if unit is None:
        raise UnsupportedInstance(f"the amounts of {what} have no common unit: {needs}")
    return [round(need / float(unit)) for need in needs], math.floor(limit / float(unit) + 1e-9)
