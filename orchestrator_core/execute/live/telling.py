"""From what is seen of a run to the events that a repair understands."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live.sight import Execution, Sight
from orchestrator_core.plan.repair import Event, Finished, Held, Occupied, Running, Waiting
from orchestrator_core.plan.schedule import Schedule

OVERDUE = 0.25
"""A task that runs longer than expected is expected to run on for this part of its age."""


def tell(
    sight: Sight,
    running: Mapping[str, tuple[str, float]],
    instance: Instance,
    schedule: Schedule,
) -> tuple[Event, ...]:
    """The events up to `sight.now`; `instance` has the durations that are believed now."""
    workers = {*instance.cluster.names, *schedule.worker_names}
    events: list[Event] = [
        _finished(task, done, sight, workers) for task, done in sight.finished.items()
    ]
    events += _copies(sight, workers)
    for task, (worker, since) in running.items():
        end = _expected_end(sight.now, since, _seconds(instance, task, worker))
        events.append(Running(task, end, start=since, worker=worker))
    told = {*sight.finished, *running}
    gone = [task for task in sight.gone if task not in told]
    events += [Finished(task, sight.now, start=sight.now) for task in gone]
    told.update(gone)
    begun = np.flatnonzero(schedule.start <= sight.now)
    planned = {schedule.task_names[i] for i in schedule.task[begun].tolist()}
    events += [Waiting(task) for task in sorted(planned - told)]
    events += _occupied(sight, workers)
    return tuple(events)


def _finished(task: str, done: Execution, sight: Sight, workers: Collection[str]) -> Event:
    worker: str | None = done.worker
    if worker not in workers:
        worker = next((w for w in sight.copies.get(task, ()) if w in workers), None)
    end = min(done.end, sight.now)
    return Finished(task, end, start=min(done.start, end), worker=worker)


def _copies(sight: Sight, workers: Collection[str]) -> Iterator[Event]:
    for task, places in sight.copies.items():
        done = sight.finished.get(task)
        for worker in places:
            if done is not None and worker in workers and worker != done.worker:
                yield Held(task, worker, since=min(done.end, sight.now))


def _occupied(sight: Sight, workers: Collection[str]) -> Iterator[Event]:
    for worker, threads in sight.occupied.items():
        if worker in workers:
            yield from (Occupied(worker, max(sight.now, until)) for until in threads)


def _seconds(instance: Instance, task: str, worker: str) -> float:
    """Of its first mode; 0 where it is not known."""
    mode = instance.graph.mode_ptr[instance.graph.index[task]]
    if worker not in instance.cluster.index:
        return 0.0
    seconds = float(instance.seconds[mode, instance.cluster.index[worker]])
    return seconds if np.isfinite(seconds) else 0.0


def _expected_end(now: float, since: float, seconds: float) -> float:
    return now + still_takes(seconds, now - since)


def still_takes(seconds: float, age: float) -> float:
    """How long a task that should take so many seconds will run on at this age."""
    return seconds - age if age < seconds else OVERDUE * age
