"""From plan and events to the rest of the run (stage 3, repair)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.flights import (
    begun_sends,
    later_sends,
    ran_elsewhere,
    still_there,
    without_crowding,
)
from orchestrator_core.plan.repair.observe import (
    ANYONE,
    TOLD,
    begun_tasks,
    copies_of_inputs,
    settle,
)
from orchestrator_core.plan.repair.planned import Planned
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING, Rest, Sends
from orchestrator_core.plan.repair.told import Told
from orchestrator_core.plan.repair.wishes import wishes


@dataclass(frozen=True, eq=False)
class Remains:
    """What is left of a run.

    Attributes:
        rest: the same for compiled code.
        sends: transfers that have begun. later: those that were planned and have not.
        known: (n,) tasks that were planned before.
        again: (n,) tasks that had begun or ended and must run again.
        wish: (n,) seconds by which waiting tasks are ordered, near their planned starts.
        prefer: (n,) the worker that was planned for a waiting task, or -1.
        done: pieces of paused tasks that have begun.
        pausable: running tasks that may stop at a checkpoint.
    """

    rest: Rest
    sends: Sends
    later: Sends
    known: NDArray[np.bool_]
    again: NDArray[np.bool_]
    wish: Floats
    prefer: Ints
    done: Mapping[int, tuple[tuple[float, float], ...]]
    pausable: tuple[int, ...]

    def order(self, basis: Basis) -> Ints:
        """The waiting tasks by their wishes, producers first."""
        waiting = np.flatnonzero(self.rest.status == WAITING)
        chosen = np.lexsort((basis.depth[waiting], self.wish[waiting]))
        return np.ascontiguousarray(waiting[chosen])


def remains_of(
    basis: Basis,
    planned: Planned,
    told: Told,
    now: float,
    wanted: NDArray[np.bool_],
    forgets: bool,
) -> Remains:
    """The rest of the run at `now`.

    Raises:
        InvalidInput: if an event asks for what cannot be.
    """
    p = basis.problem
    n, w = p.n_tasks, p.n_workers
    since, left, resumes = _pieces(planned, told, now)
    end = told.end
    status = _begun(basis, planned, told, since, now)
    present = np.full((n, w), np.inf)
    sends = begun_sends(p, planned, told, now, status)
    sends = without_crowding(basis, told, status, sends, now)
    copies_of_inputs(p, status, told.start, end, told.worker, sends, present)
    for unit, worker, moment in told.copies:
        if status[unit] != ENDED:
            raise InvalidInput(f"{basis.label(unit)} has not ended; no worker can hold its output")
        if worker < w:
            present[unit, worker] = min(present[unit, worker], moment)
    home, again = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    paused = (left > 0) & (status != WAITING)
    there = paused & told.alive[np.minimum(told.worker, w - 1)] & (told.worker < w)
    status[paused] = WAITING
    again[paused & ~there] = True
    settle(p, told.alive, wanted, forgets, status, told.worker, present, home, again)
    again |= told.failed
    rest = _rest(p, now, told, status, end, home, present, there, left)
    wish = np.where(planned.known & ~again, planned.start, np.inf)
    wish[there] = resumes[there]
    wishes(p, now, status, basis.best_seconds, wish)
    usable = (status == WAITING) & planned.known & (planned.worker < w)
    usable[usable] = told.alive[planned.worker[usable]]
    prefer = np.where(usable, planned.worker, -1)
    done = {
        unit: pieces
        for unit, pieces in _done(planned, told, now).items()
        if not again[unit] and (there[unit] or status[unit] != WAITING)
    }
    kept = still_there(sends, rest)
    running = tuple(u for u in told.pausable if status[u] == RUNNING)
    # Only the general kernel has a use for them.
    later = kept.none() if basis.threads_only else later_sends(planned, rest)
    return Remains(rest, kept, later, planned.known, again, wish, prefer, done, running)


def _begun(basis: Basis, planned: Planned, told: Told, since: Floats, now: float) -> Ints:
    p = basis.problem
    may = (told.known == TOLD) | (planned.known & (told.known == 0) & (told.start < now))
    slack = 1e-9 * max(1.0, float(told.end.max(initial=0.0)))
    status = np.full(p.n_tasks, WAITING, dtype=np.int64)
    # What ran elsewhere than planned was not sent from where it was planned.
    source = np.where(ran_elsewhere(planned, told), told.worker, ANYONE)
    begun_tasks(
        p, now, slack, _by_time(basis, may, since), told.known, since, told.end, told.worker,
        told.mode, planned.sends, source, _seen(basis, planned, now, slack), False, status,
    )  # fmt: skip
    return status


def _seen(basis: Basis, planned: Planned, now: float, slack: float) -> NDArray[np.bool_]:
    """(n,) tasks that an earlier repair found to have begun: by the plan alone they cannot have."""
    p, since, end = basis.problem, planned.start.copy(), planned.end.copy()
    for unit, pieces in planned.pieces.items():
        since[unit], end[unit] = max(
            (piece for piece in pieces if piece[0] < now), default=pieces[0]
        )
    order = _by_time(basis, planned.known & (planned.start < now), since)
    nobody, seen = np.zeros(p.n_tasks, dtype=np.int64), np.zeros(p.n_tasks, dtype=np.bool_)
    anyone = np.full(p.n_tasks, ANYONE)
    status = np.full(p.n_tasks, WAITING, dtype=np.int64)
    begun_tasks(
        p, now, slack, order, nobody, since, end, planned.worker, planned.mode, planned.sends,
        anyone, seen, True, status,
    )  # fmt: skip
    return seen


def _by_time(basis: Basis, which: NDArray[np.bool_], since: Floats) -> Ints:
    some = np.flatnonzero(which)
    return np.ascontiguousarray(some[np.lexsort((basis.depth[some], since[some]))])


def _pieces(planned: Planned, told: Told, now: float) -> tuple[Floats, Floats, Floats]:
    """(n,) the start of the last piece that has begun; the work that is left after it, -1 for none,
    and when that was to go on. The ends that were told become those of what has begun."""
    since = told.start.copy()
    left, resumes = np.full(len(since), -1.0), np.full(len(since), np.inf)
    for unit, begun in _done(planned, told, now).items():
        since[unit], told.end[unit] = begun[-1]
        later = planned.pieces[unit][len(begun) :]
        if later and not told.known[unit]:
            left[unit], resumes[unit] = sum(b - a for a, b in later), later[0][0]
    return since, left, resumes


def _done(planned: Planned, told: Told, now: float) -> dict[int, tuple[tuple[float, float], ...]]:
    found = dict(told.pieces)
    for unit, pieces in planned.pieces.items():
        begun = tuple(piece for piece in pieces if piece[0] < now)
        if begun and told.known[unit] == 0:
            found[unit] = begun
    return found


def _rest(
    p: Problem,
    now: float,
    told: Told,
    status: Ints,
    end: Floats,
    home: Ints,
    present: Floats,
    paused: NDArray[np.bool_],
    left: Floats,
) -> Rest:
    earliest = np.maximum(now, p.release)
    earliest[paused] = np.maximum(now, end[paused])
    occupied = [each for each in told.occupied if each[0] < p.n_workers and told.alive[each[0]]]
    return Rest(
        now=now,
        status=status,
        start=told.start,
        end=end,
        worker=told.worker,
        mode=told.mode,
        home=home,
        present=present,
        left=np.where(paused, left, -1.0),
        earliest=earliest,
        pinned=np.where(paused, told.worker, -1),
        fixed_mode=np.where(paused, told.mode, -1),
        alive=told.alive,
        busy_until=np.where(paused, end, 0.0),
        taken=np.array([worker for worker, _ in occupied], dtype=np.int64),
        taken_until=np.array([until for _, until in occupied], dtype=np.float64),
    )


def with_pause(remains: Remains, unit: int, checkpoint: float) -> Remains:
    """The same, but that a running task stops at the moment `checkpoint` and goes on later."""
    rest = remains.rest
    changed = {
        name: getattr(rest, name).copy()
        for name in ("status", "left", "earliest", "pinned", "fixed_mode", "busy_until", "home")
    }
    changed["status"][unit], changed["left"][unit] = WAITING, rest.end[unit] - checkpoint
    changed["earliest"][unit] = changed["busy_until"][unit] = checkpoint
    changed["pinned"][unit], changed["fixed_mode"][unit] = rest.worker[unit], rest.mode[unit]
    present, wish = rest.present.copy(), remains.wish.copy()
    present[unit, :] = np.inf
    wish[unit] = checkpoint
    before = remains.done.get(unit, ())
    since = before[-1][0] if before else float(rest.start[unit])
    done = {**remains.done, unit: (*before[:-1], (since, checkpoint))}
    changed["present"], changed["home"][unit] = present, -1
    return replace(remains, rest=rest._replace(**changed), wish=wish, done=done)
