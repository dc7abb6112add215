"""Program: the time-indexed integer program of one instance, but for what is scarce."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.cpsat.expand import inputs_of
from orchestrator_core.plan.cpsat.lengths import piece_seconds
from orchestrator_core.plan.time_indexed.parts import Job, Steps, Way

MOST_VARIABLES = 200_000
"""Larger programs are refused: they would take minutes or worse."""


class Program:
    """The integer program of one instance."""

    def __init__(self, instance: Instance, tick: float, horizon: int) -> None:
        self.instance, self.tick, self.horizon = instance, tick, horizon
        self.model = cp_model.CpModel()
        self.workers = range(len(instance.cluster))
        self.sent: dict[tuple[int, int, int], Steps] = {}
        graph = instance.graph
        keys = [(int(t), r) for t in graph.topological for r in range(int(graph.count[t]))]
        self.jobs = [Job(task, number) for task, number in keys]
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
        """Completion, encoding and inputs; `limits.py` adds what is scarce."""
        for job in self.jobs:
            self.complete_once(job)
        for j in range(len(self.jobs)):
            self.encode_after_completion(j)
        for j, job in enumerate(self.jobs):
            for consumer, nbytes in job.uses:
                self.start_after_input(j, consumer, nbytes)

    def ticks(self, seconds: float, what: str) -> int:
        whole = round(seconds / self.tick)
        if abs(whole * self.tick - seconds) > 1e-9 * max(1.0, seconds):
            raise UnsupportedInstance(
                f"{what} is {seconds:g} s, no whole number of ticks of {self.tick:g} s; the oracle "
                "is exact only where all times are: choose another tick"
            )
        return whole

    def steps(self, first: int) -> Steps:
        """Steps that are 0 before `first`."""
        values = [self.model.new_bool_var("") for _ in range(self.horizon + 1)]
        for value in values[: max(first, 0)]:
            self.model.add(value == 0)
        for before, after in pairwise(values):
            self.model.add_implication(before, after)
        return Steps(values)

    def complete_once(self, job: Job) -> None:
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

    def way(self, mode: int, worker: int, length: tuple[int, ...], release: int) -> Way:
        done = tuple(self.steps(release + sum(length[: k + 1])) for k in range(len(length)))
        for (one, other), ticks in zip(pairwise(done), length[1:], strict=True):
            self.model.add(one.ever == other.ever)
            for t in range(self.horizon - ticks + 1):
                self.model.add_implication(other.at(t + ticks), one.at(t))
        return Way(mode, worker, length, done)

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

    def encode_ticks(self, job: Job, source: int, destination: int) -> int:
        per_byte = float(self.instance.cluster.encode_seconds_per_byte[source, destination])
        return self.ticks(self.output_bytes(job) * per_byte, "an encoding time")

    def transit_ticks(self, source: int, destination: int, nbytes: float) -> int:
        seconds = self.instance.cluster.transfer_seconds(source, destination, nbytes)
        return self.ticks(seconds, "a transit time")

    def output_bytes(self, job: Job) -> float:
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

    def ways_on(self, worker: int) -> list[Way]:
        return [way for job in self.jobs for way in job.ways if way.worker == worker]
