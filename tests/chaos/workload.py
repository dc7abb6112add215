"""A graph of real tasks with known results: they take time, move bytes, need each other."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

TASKS = 80
KINDS = ("load", "mix", "fit")
SPEED = "ORCHESTRATOR_WORKER_SPEED"
SLOWER = "CHAOS_SLOWER"
"""Environment variables of a worker: its speed, and by what it became slower since."""

Output = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Job:
    """One task: `seconds` on a worker of speed 1, and `nbytes` of output."""

    number: int
    inputs: tuple[str, ...]
    seconds: float
    nbytes: int


def make_jobs(
    tag: str = "w", tasks: int = TASKS, seed: int = 7, pace: float = 1.0
) -> dict[str, Job]:
    """Jobs by key, producers first; `pace` stretches all durations."""
    random = Random(seed)
    jobs: dict[str, Job] = {}
    for i in range(tasks):
        near = list(jobs)[-20:]
        inputs = random.sample(near, min(len(near), random.choice((0, 1, 1, 2, 3))))
        key = f"{tag}{KINDS[i % len(KINDS)]}-{i}"
        seconds = pace * random.uniform(0.01, 0.08)
        jobs[key] = Job(i, tuple(inputs), seconds, random.choice((100, 10_000, 300_000)))
    return jobs


def graph_of(jobs: Mapping[str, Job]) -> dict[str, Any]:
    """The jobs as a Dask graph."""
    return {
        key: (work, job.number, job.seconds, job.nbytes, *job.inputs) for key, job in jobs.items()
    }


def sinks(jobs: Mapping[str, Job]) -> list[str]:
    """Keys whose output nobody uses."""
    used = {key for job in jobs.values() for key in job.inputs}
    return [key for key in jobs if key not in used]


def results_of(jobs: Mapping[str, Job]) -> dict[str, int]:
    """The number that each job has to arrive at."""
    numbers: dict[str, int] = {}
    for key, job in jobs.items():
        above = [(numbers[k], jobs[k].nbytes) for k in job.inputs]
        numbers[key] = combine(job.number, above)
    return numbers


def combine(number: int, inputs: list[tuple[int, int]]) -> int:
    """A digest of a job's number and of its inputs' numbers and sizes."""
    return zlib.crc32(repr((number, inputs)).encode())


def work(number: int, seconds: float, nbytes: int, *inputs: Output) -> Output:
    """Runs on a worker: takes as long as that worker's speed says."""
    spend(seconds)
    return combine(number, [(value, len(data)) for value, data in inputs]), bytes(nbytes)


def spend(seconds: float) -> None:
    """Take time as a worker of this speed would."""
    environment = os.environ
    slower = float(environment.get(SLOWER, "1"))
    time.sleep(seconds * slower / float(environment.get(SPEED, "1")))
