"""What a run has left on its workers, as the general kernel keeps it (stage 3, repair).

Running tasks are on their workers, outputs where they are held, encodings under way: the state from
which the kernel goes on as if it had placed all of that itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.placing import Placed, Sent, empty_placed, empty_sent
from orchestrator_core.plan.engine.profiles import Profiles, idle_profiles, occupy
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING


class Claims(NamedTuple):
    """(x,) workers and seconds; (x, d) amounts, as in the profiles."""

    worker: Ints
    since: Floats
    until: Floats
    amounts: Floats


@compiled
def _take(f: Profiles, claims: Claims) -> None:
    for i in range(len(claims.worker)):
        occupy(f, claims.worker[i], claims.since[i], claims.until[i], claims.amounts[i])


class Begun:
    """The state at `now`; made once for a rest, and copied for each placement.

    Attributes:
        limit: (w, d) what may be taken; no less memory than what is held already.
        copied, copied_to: single tasks and workers of outputs that are held, or soon will be, away
            from home.
    """

    def __init__(self, problem: Problem, remains: Remains, limit: Floats) -> None:
        self.problem, self.remains, self.limit = problem, remains, limit.copy()
        p, r = problem, remains.rest
        self._consumer = np.repeat(np.arange(p.n_tasks), np.diff(p.in_ptr))
        waits = r.status[self._consumer] == WAITING
        self._waiting = np.bincount(p.in_task[waits], minlength=p.n_tasks)
        self._last_use = self._uses_by_running()
        held = (r.present < np.inf) & (r.status == ENDED)[:, None]
        unit, worker = np.nonzero(held)
        away = worker != r.home[unit]
        self.copied, self.copied_to = unit[away], worker[away]
        here = remains.sends.encoded > r.now
        here &= r.home[remains.sends.unit] == remains.sends.source
        self._encoding = remains.sends.chosen(here)
        self._placed = self._all_placed()
        self._claims = [self._all_claims(reserve=reserve) for reserve in (False, True)]
        self._make_room()

    def placed(self) -> Placed:
        """What has begun, as placed; a copy that may be changed."""
        f = self._placed
        return Placed(
            f.start.copy(),
            f.end.copy(),
            f.worker.copy(),
            f.mode.copy(),
            f.waiting.copy(),
            f.held_until.copy(),
        )

    def sent(self, more: int) -> Sent:
        """The copies, as transfers that arrive when the copies are there."""
        p, r = self.problem, self.remains.rest
        unit, worker = self.copied, self.copied_to
        sent = empty_sent(p.n_tasks, len(unit) + len(p.in_task) + more)
        x, home = np.arange(len(unit)), r.home[unit]
        way = p.latency[home, worker] + p.output_bytes[unit] * p.per_byte[home, worker]
        sent.task[x], sent.destination[x] = unit, worker
        sent.end[x] = r.present[unit, worker]
        sent.start[x] = sent.encoded[x] = sent.end[x] - way
        sent.held_from[x] = np.maximum(r.now, sent.end[x])
        sent.held_until[x] = self._last_use[unit, worker]
        # They are sorted by task: each comes after the one before, if that is of the same task.
        same = unit[1:] == unit[:-1]
        sent.after[x] = np.where(np.concatenate([[False], same])[: len(unit)], x - 1, -1)
        sent.first[unit] = x
        sent.used[0] = len(unit)
        return sent

    def profiles(self, steps: int, *, reserve: bool) -> Profiles:
        """What is taken of the workers, in a pool of `steps` steps."""
        found = idle_profiles(self.limit, steps)
        _take(found, self._claims[reserve])
        return found

    def _make_room(self) -> None:
        """What is held now is held, even where there is officially no room for it."""
        if not (self.limit[:, 1] < np.inf).any():
            return
        claims = self._claims[True]
        f = self.profiles(16 * len(claims.worker) + 64 * len(self.limit), reserve=True)
        for b, (base, size) in enumerate(zip(f.base.tolist(), f.size.tolist(), strict=True)):
            peak = f.taken[base : base + size, 1].max(initial=0.0)
            self.limit[b, 1] = max(self.limit[b, 1], peak)

    def _uses_by_running(self) -> Floats:
        """(n, w) the last end of a running task that uses an output on a worker, else 0."""
        p, r = self.problem, self.remains.rest
        last = np.zeros((p.n_tasks, p.n_workers))
        running = r.status[self._consumer] == RUNNING
        consumer = self._consumer[running]
        np.maximum.at(last, (p.in_task[running], r.worker[consumer]), r.end[consumer])
        pausing = np.flatnonzero(r.busy_until[self._consumer] > r.now)
        consumer = self._consumer[pausing]
        np.maximum.at(last, (p.in_task[pausing], r.worker[consumer]), r.busy_until[consumer])
        return last

    def _all_placed(self) -> Placed:
        p, r = self.problem, self.remains.rest
        placed = empty_placed(p.n_tasks, self._waiting)
        begun = (r.status != WAITING) & (r.home >= 0)
        placed.worker[begun] = r.home[begun]
        placed.start[begun] = r.start[begun]
        placed.end[begun] = np.maximum(r.now, r.end[begun])
        placed.held_until[begun] = np.maximum(
            placed.end[begun], self._last_use[begun, r.home[begun]]
        )
        np.maximum.at(placed.held_until, self._encoding.unit, self._encoding.encoded)
        return placed

    def _all_claims(self, *, reserve: bool) -> Claims:
        parts = (
            self._running(),
            self._taken(),
            self._encodings(),
            self._at_home(reserve),
            self._away(),
        )
        return Claims(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _running(self) -> Claims:
        p, r = self.problem, self.remains.rest
        t = np.flatnonzero((r.status == RUNNING) | (r.busy_until > r.now))
        until = np.where(r.status[t] == RUNNING, r.end[t], r.busy_until[t])
        m = r.mode[t]
        amounts = np.column_stack([p.threads[m], p.memory[m], p.demand[m]])
        return Claims(r.worker[t], np.full(len(t), r.now), until, amounts)

    def _taken(self) -> Claims:
        """Threads that somebody else has."""
        r = self.remains.rest
        return self._threads(r.taken, r.taken_until)

    def _encodings(self) -> Claims:
        return self._threads(self._encoding.source, self._encoding.encoded)

    def _threads(self, worker: Ints, until: Floats) -> Claims:
        """One thread for each, from now on."""
        amounts = np.zeros((len(worker), self.limit.shape[1]))
        amounts[:, 0] = 1.0
        return Claims(worker, np.full(len(worker), self.remains.rest.now), until, amounts)

    def _at_home(self, reserve: bool) -> Claims:
        p, r = self.problem, self.remains.rest
        q = np.flatnonzero((r.status != WAITING) & (r.home >= 0) & (p.output_bytes > 0))
        q = q[self.limit[r.home[q], 1] < np.inf]
        for_ever = reserve & (self._waiting[q] > 0)
        until = np.where(for_ever, np.inf, self._placed.held_until[q])
        return Claims(r.home[q], np.maximum(r.now, r.end[q]), until, self._bytes(q))

    def _away(self) -> Claims:
        """Copies that running tasks use."""
        now, q, b = self.remains.rest.now, self.copied, self.copied_to
        used = (self.limit[b, 1] < np.inf) & (self._last_use[q, b] > now)
        q, b = q[used], b[used]
        return Claims(b, np.full(len(q), now), self._last_use[q, b], self._bytes(q))

    def _bytes(self, q: Ints) -> Floats:
        amounts = np.zeros((len(q), self.limit.shape[1]))
        amounts[:, 1] = self.problem.output_bytes[q]
        return amounts
