"""Looking at a run: what the scheduler knows about its tasks at this moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from distributed.core import Status

from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.dask.steer.jam import Seconds, jammed
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.live import Sight
from orchestrator_core.graph.cluster import Cluster

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler


def look(
    scheduler: Scheduler,
    roster: Roster,
    steered: Steered,
    cluster: Cluster,
    now: float,
    seconds: Seconds,
    occupied: Mapping[str, Sequence[float]],
) -> Sight:
    """What is seen of the run, which has caught up, `now` seconds after its start.

    A worker whose threads others hold for longer than they should, by `seconds`, counts as paused.
    `occupied`: as of `Sight`.
    """
    progress = steered.progress
    return Sight(
        now=now,
        cluster=cluster,
        paused=_paused(scheduler, roster, steered, seconds),
        finished=dict(progress.finished),
        sent=_sent(roster, steered),
        executing=_executing(scheduler, steered, now),
        copies=_copies(roster, steered),
        gone=frozenset(progress.gone),
        others=_others(scheduler, roster, steered),
        occupied=occupied,
    )


def _sent(roster: Roster, steered: Steered) -> dict[str, tuple[str, float]]:
    """Where the tasks are that a worker was told of, though others may have stolen them since."""
    found: dict[str, tuple[str, float]] = {}
    began = steered.run.started_at
    for name, task in steered.progress.processing.items():
        if (worker := task.processing_on) is not None:
            found[name] = (roster.name(worker.address), steered.sent.get(task.key, began) - began)
    return found


def _copies(roster: Roster, steered: Steered) -> dict[str, tuple[str, ...]]:
    """Where outputs are, if not, or not only, where they were made."""
    found: dict[str, tuple[str, ...]] = {}
    finished = steered.progress.finished
    for name, task in steered.progress.held.items():
        holders = tuple([roster.name(worker.address) for worker in task.who_has or ()])
        if holders and holders != (finished[name].worker,):
            found[name] = holders
    return found


def _paused(
    scheduler: Scheduler, roster: Roster, steered: Steered, seconds: Seconds
) -> frozenset[str]:
    """Workers that begin nothing, and nobody knows for how long."""
    paused = [w for w in scheduler.workers.values() if w.status is not Status.running]
    paused += jammed(scheduler, seconds, ours=steered.run.open)
    return frozenset(roster.name(worker.address) for worker in paused)


def _others(scheduler: Scheduler, roster: Roster, steered: Steered) -> dict[str, int]:
    """Tasks that are not of the run and hold threads of workers, or get them before it."""
    found: dict[str, int] = {}
    for worker in scheduler.workers.values():
        others = [task for task in worker.processing if task.key not in steered.run.open]
        if others:
            waiting = set(worker.processing).difference(others, worker.executing)
            first = min((task.priority or () for task in waiting), default=())
            found[roster.name(worker.address)] = sum(
                task in worker.executing or (task.priority or ()) < first for task in others
            )
    return found


def _executing(scheduler: Scheduler, steered: Steered, now: float) -> dict[str, float]:
    """Since when workers execute tasks of the run; their last heartbeat said for how long."""
    found: dict[str, float] = {}
    run = steered.run
    moment = run.started_at + now
    for worker in scheduler.workers.values():
        for state, seconds in worker.executing.items():
            if state.processing_on is worker and state.key in run.open:
                age = seconds + max(0.0, moment - worker.last_seen)
                found[run.label(state.key)[0]] = max(0.0, now - age)
    return found
