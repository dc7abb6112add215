"""Looking at a run: what the scheduler knows about its tasks at this moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from distributed.core import Status

from orchestrator_core.execute.dask.plans.steered import Steered
from orchestrator_core.execute.dask.steer.jam import Seconds, jammed
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.live import Execution, Sight
from orchestrator_core.graph.cluster import Cluster

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

UNFINISHED = frozenset({"waiting", "processing", "no-worker", "queued"})


def look(
    scheduler: Scheduler,
    roster: Roster,
    steered: Steered,
    cluster: Cluster,
    now: float,
    seconds: Seconds,
    occupied: Mapping[str, Sequence[float]],
) -> Sight:
    """What is seen of the run `now` seconds after its start; three microseconds for each task.

    A worker whose threads others hold for longer than they should, by `seconds`, counts as paused.
    `occupied`: as of `Sight`.
    """
    run, done = steered.run, {}
    names, place = run.snapshot.names, run.snapshot.place
    for key, status, (worker_name, _), start, end, *_ in run.ended:
        if status == "ok":
            done[names[place[key]]] = Execution(worker_name, start, end)
    sent: dict[str, tuple[str, float]] = {}
    copies: dict[str, tuple[str, ...]] = {}
    gone: set[str] = set()
    for key, name in zip(run.snapshot.keys, names, strict=True):
        state: TaskState | None = scheduler.tasks.get(key)  # type: ignore[call-overload]
        if state is None and key in run.coming:
            continue
        if state is None or state.state in ("erred", "forgotten"):
            gone.add(name)
        elif state.state in UNFINISHED:
            done.pop(name, None)
            worker = state.processing_on
            if worker is not None:
                since = steered.sent.get(key, run.started_at) - run.started_at
                sent[name] = (roster.name(worker.address), since)
        elif state.who_has and name in done:
            holders = tuple(roster.name(worker.address) for worker in state.who_has)
            if holders != (done[name].worker,):
                copies[name] = holders
        elif name not in done:
            gone.add(name)
    return Sight(
        now=now,
        cluster=cluster,
        paused=_paused(scheduler, roster, steered, seconds),
        finished={name: each for name, each in done.items() if name not in gone},
        sent=sent,
        executing=_executing(scheduler, steered, now),
        copies=copies,
        gone=gone,
        others=_others(scheduler, roster, steered),
        occupied=occupied,
    )


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
