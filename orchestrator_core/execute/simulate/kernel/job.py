"""Job: what is simulated, as frozen arrays for compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, frozen


class Job(NamedTuple):
    """u units, e needs, m modes, w workers, r resources; all arrays frozen.

    Attributes:
        in_ptr, in_unit: what unit i needs is ``in_unit[in_ptr[i] : in_ptr[i + 1]]``.
        out_ptr, out_unit: the same for those that need it.
        priority: (u,) smallest first, each once. mode: (u,) among all modes.
        release, size: (u,) seconds, bytes.
        seconds: (m, w). threads: (m,). demand: (m, r).
        worker_threads: (w,). supply: (w, r).
        latency, per_byte, encode: (w, w) seconds, and seconds per byte, source first.
    """

    in_ptr: Ints
    in_unit: Ints
    out_ptr: Ints
    out_unit: Ints
    priority: Ints
    mode: Ints
    release: Floats
    size: Floats
    seconds: Floats
    threads: Ints
    demand: Floats
    worker_threads: Ints
    supply: Floats
    latency: Floats
    per_byte: Floats
    encode: Floats


def job_of(problem: Problem, mode: Ints, priority: Ints) -> Job:
    """The problem's tasks in these (u,) modes and this order, with its own durations."""
    return Job(
        in_ptr=problem.in_ptr,
        in_unit=problem.in_task,
        out_ptr=problem.out_ptr,
        out_unit=problem.out_task,
        priority=frozen(priority),
        mode=frozen(mode),
        release=problem.release,
        size=problem.output_bytes,
        seconds=problem.seconds,
        threads=problem.threads,
        demand=problem.demand,
        worker_threads=problem.worker_threads,
        supply=problem.supply,
        latency=problem.latency,
        per_byte=problem.per_byte,
        encode=problem.encode,
    )


def most_transfers(problem: Problem) -> int:
    """No run has more: each output that is needed goes to each other worker once."""
    needed = int(np.count_nonzero(np.diff(problem.out_ptr)))
    return max(1, needed * (problem.n_workers - 1))
