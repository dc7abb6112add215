"""Cost bucket: a coarse summary of durations and sizes, part of the key of stored schedules.

A stored schedule is an exact hit while costs stay in their bucket, and a near hit, to be re-timed
and searched from, when they leave it. So a bucket should survive the few percent by which learned
costs move from run to run, and notice when the trade-offs have changed.

Four figures of the whole instance are rounded on a logarithmic scale in steps of 25 %: sums, in
which the noise of single tasks averages out, and ratios of them, which a slower day leaves alone.
A figure near the edge of its step changes with any drift: one that moves by 2 % does so in about 9
of 100 cases. Remembering the last bucket would prevent that, but then equal costs would no longer
have equal buckets, and several schedulers could not share a store. Opposite changes that leave all
four figures alone go unnoticed: an exact hit is to be checked against the live instance as well.
"""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.costs.instance import Instance

STEP = 1.25
"""Ratio of two neighbouring steps."""


def cost_bucket(instance: Instance) -> str:
    """The bucket, such as ``w31.f-2.c-7.b84``: equal for equal costs, whatever the names.

    w: work, seconds of all task instances on an average eligible worker.
    f: work on the fastest workers, as a fraction of w: how much placement matters.
    c: longest path on the fastest workers, as a fraction of that work: how parallel it is.
    b: bytes of all outputs that have a consumer.
    """
    graph = instance.graph
    if not len(graph):
        return "empty"
    finite = np.isfinite(instance.seconds)
    pairs = np.add.reduceat(finite.sum(axis=1), graph.mode_ptr[:-1])
    total = np.where(finite, instance.seconds, 0.0).sum(axis=1)
    average = np.add.reduceat(total, graph.mode_ptr[:-1]) / pairs
    work = float(average @ graph.count)
    fastest = float(instance.best_seconds @ graph.count)
    used = np.diff(graph.successor_ptr) > 0
    nbytes = float((graph.output_bytes * graph.count)[used].sum())
    figures = {
        "w": work,
        "f": fastest / work if work else 0.0,
        "c": _longest_path(instance) / fastest if fastest else 0.0,
        "b": nbytes,
    }
    return ".".join(f"{name}{_step(figure)}" for name, figure in figures.items())


def _step(figure: float) -> str:
    """The nearest step of the scale; nothing at all has a step of its own."""
    return str(round(math.log(figure, STEP))) if figure > 0 else "none"


def _longest_path(instance: Instance) -> float:
    """Seconds of the longest chain of tasks, each on its fastest worker, with free transfers."""
    graph = instance.graph
    seconds = instance.best_seconds.tolist()
    ptr, consumer = graph.successor_ptr.tolist(), graph.consumer.tolist()
    ready = [0.0] * len(graph)
    longest = 0.0
    for task in graph.topological.tolist():
        end = ready[task] + seconds[task]
        longest = max(longest, end)
        for k in range(ptr[task], ptr[task + 1]):
            if ready[consumer[k]] < end:
                ready[consumer[k]] = end
    return longest
