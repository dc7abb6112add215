"""Random events, at whole ticks."""

from __future__ import annotations

import random
from collections.abc import Iterator

from orchestrator_core.plan.repair import (
    Event,
    Failed,
    Finished,
    Pausable,
    Running,
    Waiting,
    WorkerLost,
)
from orchestrator_core.plan.schedule import Assignment, Schedule


def happened(
    rng: random.Random, schedule: Schedule, now: float, tick: float, there: set[str]
) -> list[Event]:
    """What may have happened to tasks that run at `now` or have ended, and to a worker, if it is
    not the last one that is there."""
    events = list[Event]()
    for run in schedule.assignments:
        if run.worker in there:
            if run.start < now < run.end and not run.segments:
                events += _of_running(rng, run, now, tick)
            elif run.end <= now and rng.random() < 0.1:
                events.append(Failed(run.task, run.instance))
            elif run.start == now and rng.random() < 0.2:
                events.append(Waiting(run.task, run.instance))
    if len(there) > 1 and rng.random() < 0.3:
        events.append(WorkerLost(rng.choice(sorted(there))))
    return events


def _of_running(rng: random.Random, run: Assignment, now: float, tick: float) -> Iterator[Event]:
    draw = rng.random()
    if draw < 0.3:
        yield Running(run.task, now + rng.randint(0, 5) * tick, instance=run.instance)
    elif draw < 0.45:
        yield Failed(run.task, run.instance)
    elif draw < 0.6:
        passed = round((now - run.start) / tick)
        early = min(now, run.start + rng.randint(0, passed) * tick)
        yield Finished(run.task, early, instance=run.instance)
    elif draw < 0.7:
        yield Pausable(run.task, run.instance)
    elif draw < 0.8:
        yield Waiting(run.task, run.instance)
