"""Changeover: what a worker takes from the end of a task to the start of the next one.

It tells of the end, chooses the next task, and hands it to a thread: a few milliseconds, in which
the thread stands still. A fast worker does many short tasks, so that it loses more than a slow one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import RunRecord, TaskRecord

LONG_READY = 0.05
"""Seconds for which a task must have been ready to be taken for one that its worker had at hand."""

ENOUGH = 10
"""Changeovers of a run that are believed."""

LONGEST, STEP = 0.05, 0.0005
"""Seconds: what is believed at most, and to what it is rounded, lest each run have other costs."""


def changeover_of(run: RunRecord) -> float | None:
    """The median in this run, in seconds; None if there were too few."""
    found = sorted(_changeovers(run))
    return min(median(found), LONGEST) if len(found) >= ENOUGH else None


def with_changeover(instance: Instance, seconds: float) -> Instance:
    """Each task takes its worker so much longer, but for what takes no time at all."""
    if not seconds:
        return instance
    longer = instance.seconds + seconds
    return replace(instance, seconds=np.where(instance.seconds > 0, longer, 0.0))


def rounded(seconds: float) -> float:
    return STEP * round(seconds / STEP)


def _changeovers(run: RunRecord) -> Iterator[float]:
    """Seconds before each task that was ready long before its worker's thread was free."""
    ready = _ready(run)
    by_worker: dict[str, list[TaskRecord]] = defaultdict(list)
    for task in run.tasks:
        by_worker[task.worker].append(task)
    for tasks in by_worker.values():
        coming = sorted((task.end for task in tasks), reverse=True)
        free: list[float] = []
        for task in sorted(tasks, key=lambda task: task.start):
            while coming and coming[-1] <= task.start:
                free.append(coming.pop())
            # The thread that was freed last takes the next task.
            since = free.pop() if free else None
            if since is not None and ready.get(task.task, math.inf) <= since - LONG_READY:
                yield task.start - since


def _ready(run: RunRecord) -> dict[str, float]:
    """When the last input of each task was made, seconds; tasks of which one is unknown: never."""
    graph = run.graph
    ends = {task.task: task.end for task in run.tasks}
    found = dict.fromkeys(ends, 0.0)
    for producer, consumer in zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True):
        name = graph.names[consumer]
        if name in found:
            found[name] = max(found[name], ends.get(graph.names[producer], math.inf))
    return found
