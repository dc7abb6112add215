"""Placing the rest where more than threads is scarce, with the general kernel (stage 3, repair).

The kernel begins with what is left behind: running tasks on their workers, outputs where they are
held, transfers on their way. Then it places the waiting tasks as it would in an empty cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.decoder import capacity
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.engine.general import place_on_profiles
from orchestrator_core.plan.engine.placing import (
    Placed,
    Sent,
    empty_draft,
    empty_placed,
    empty_sent,
)
from orchestrator_core.plan.engine.profiles import Profiles, idle_profiles, occupy
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING, Placement, Rest, Sends


@dataclass(frozen=True, slots=True)
class Crowded:
    """A placement of the waiting tasks and the transfers that are new with it."""

    placed: Placement
    sends: Sends


@compiled
def _take(f: Profiles, worker: Ints, since: Floats, until: Floats, amounts: Floats) -> None:
    for i in range(len(worker)):
        occupy(f, worker[i], since[i], until[i], amounts[i])


class Crowd:
    """Places one rest again and again."""

    def __init__(self, basis: Basis, remains: Remains) -> None:
        self.basis, self.remains = basis, remains
        self.problem = _problem_of_rest(basis.problem, remains.rest)
        self.limit = capacity(basis.problem)
        p = self.problem
        self._draft = empty_draft(int(np.diff(p.in_ptr).max(initial=1)), self.limit.shape[1])
        self._consumer = np.repeat(np.arange(p.n_tasks), np.diff(p.in_ptr))
        self._last_use = self._uses_by_running()
        self._waiting = np.bincount(
            p.in_task[remains.rest.status[self._consumer] == WAITING], minlength=p.n_tasks
        )
        self._steps = 8 * p.n_tasks + 64 * p.n_workers

    def place(
        self,
        order: Ints,
        prefer: Ints,
        *,
        in_order: bool,
        reserve: bool,
        sends: Sends | None = None,
        as_planned: bool = False,
    ) -> Crowded | None:
        """The waiting tasks in this order, on `prefer` unless it is -1; None for a dead end.

        Args:
            in_order, reserve: as in `decode`.
            sends: transfers that are placed in the order, by their times.
            as_planned: nothing starts before it was planned.
        """
        p, r = self.problem, self.remains.rest
        n = p.n_tasks
        worker = np.where(r.pinned >= 0, r.pinned, prefer)
        fixed_mode = np.where(r.left >= 0, -1, r.fixed_mode)
        early = self.remains.later.none() if sends is None else sends
        pairs = np.ascontiguousarray(np.column_stack([early.unit, early.destination]))
        items = self._merged(order, early)
        earliest = np.concatenate([r.earliest, np.full(len(pairs), r.now)])
        if as_planned:
            wish = np.where(np.isfinite(self.remains.wish), self.remains.wish, 0.0)
            earliest = np.maximum(earliest, np.concatenate([wish, early.sent]))
        while True:
            placed, sent = self._placed(), self._sent(len(pairs))
            before = int(sent.used[0])
            profiles = self._profiles(placed, reserve)
            done = place_on_profiles(
                p, items, pairs, earliest, worker, fixed_mode, np.zeros((0, 0)), in_order,
                reserve, profiles, placed, sent, self._draft,
            )  # fmt: skip
            if not profiles.pool[1]:
                break
            self._steps *= 2
        if done < len(items):
            return None
        mode = _old_modes(self.basis.problem, r, placed.mode)
        new = slice(before, int(sent.used[0]))
        task = sent.task[new]
        source = np.where(r.status[task] == WAITING, placed.worker[task], r.home[task])
        return Crowded(
            Placement(placed.start[:n], placed.end[:n], placed.worker[:n], mode),
            Sends(
                task, source, sent.destination[new], sent.start[new], sent.encoded[new],
                sent.end[new],
            ),
        )  # fmt: skip

    def _merged(self, order: Ints, sends: Sends) -> Ints:
        """The order with the sends between, each after the task whose output it sends."""
        if not len(sends.unit):
            return order
        n, wish = self.problem.n_tasks, self.remains.wish
        turn = np.full(n, -1.0)
        turn[order] = np.arange(len(order))
        moment = np.zeros(n)
        moment[order] = np.maximum.accumulate(wish[order])
        times = np.concatenate([moment[order], np.maximum(sends.sent, moment[sends.unit])])
        turns = np.concatenate([turn[order], turn[sends.unit] + 0.5])
        items = np.concatenate([order, n + np.arange(len(sends.unit))])
        return np.ascontiguousarray(items[np.lexsort((turns, times))])

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

    def _placed(self) -> Placed:
        p, r = self.problem, self.remains.rest
        placed = empty_placed(p.n_tasks, self._waiting.copy())
        begun = (r.status != WAITING) & (r.home >= 0)
        placed.worker[begun] = r.home[begun]
        placed.start[begun] = r.start[begun]
        placed.end[begun] = np.maximum(r.now, r.end[begun])
        placed.held_until[begun] = np.maximum(
            placed.end[begun], self._last_use[begun, r.home[begun]]
        )
        sends = self._on_the_way()
        np.maximum.at(placed.held_until, sends.unit, sends.encoded)
        return placed

    def _on_the_way(self) -> Sends:
        """Transfers that are being encoded now."""
        sends, now = self.remains.sends, self.remains.rest.now
        here = (sends.encoded > now) & (self.remains.rest.home[sends.unit] == sends.source)
        return sends.chosen(here)

    def _copies(self) -> tuple[Ints, Ints]:
        """(single tasks, workers) of outputs that are held, or soon will be, away from home."""
        r = self.remains.rest
        held = (r.present < np.inf) & (r.status == ENDED)[:, None]
        unit, worker = np.nonzero(held)
        away = worker != r.home[unit]
        return unit[away], worker[away]

    def _sent(self, more: int) -> Sent:
        """The copies, as transfers that arrive when the copies are there."""
        p, r = self.problem, self.remains.rest
        unit, worker = self._copies()
        sent = empty_sent(p.n_tasks, len(unit) + len(p.in_task) + more)
        x = np.arange(len(unit))
        home = r.home[unit]
        way = p.latency[home, worker] + p.output_bytes[unit] * p.per_byte[home, worker]
        sent.task[x], sent.destination[x] = unit, worker
        sent.end[x] = r.present[unit, worker]
        sent.start[x] = sent.encoded[x] = sent.end[x] - way
        sent.held_from[x] = np.maximum(r.now, sent.end[x])
        sent.held_until[x] = self._last_use[unit, worker]
        for i in range(len(unit)):
            sent.after[i], sent.first[unit[i]] = sent.first[unit[i]], i
        sent.used[0] = len(unit)
        return sent

    def _profiles(self, placed: Placed, reserve: bool) -> Profiles:
        claims = [*self._running(), *self._encodings(), *self._held(placed, reserve)]
        profiles = idle_profiles(self.limit, self._steps)
        if claims:
            worker = np.array([claim[0] for claim in claims], dtype=np.int64)
            since = np.array([claim[1] for claim in claims])
            until = np.array([claim[2] for claim in claims])
            _take(profiles, worker, since, until, np.array([claim[3] for claim in claims]))
        return profiles

    def _running(self) -> Iterator[tuple[int, float, float, Floats]]:
        p, r = self.basis.problem, self.remains.rest
        for t in np.flatnonzero((r.status == RUNNING) | (r.busy_until > r.now)):
            until = r.end[t] if r.status[t] == RUNNING else r.busy_until[t]
            m = r.mode[t]
            amounts = np.concatenate([[p.threads[m], p.memory[m]], p.demand[m]])
            yield int(r.worker[t]), r.now, float(until), amounts

    def _encodings(self) -> Iterator[tuple[int, float, float, Floats]]:
        sends = self._on_the_way()
        thread = np.zeros(self.limit.shape[1])
        thread[0] = 1.0
        for source, encoded in zip(sends.source.tolist(), sends.encoded.tolist(), strict=True):
            yield source, self.remains.rest.now, encoded, thread

    def _held(self, placed: Placed, reserve: bool) -> Iterator[tuple[int, float, float, Floats]]:
        p, r = self.problem, self.remains.rest
        scarce = self.limit[:, 1] < np.inf
        for q in np.flatnonzero((r.status != WAITING) & (r.home >= 0)):
            b = int(r.home[q])
            if scarce[b] and p.output_bytes[q] > 0:
                for_ever = reserve and self._waiting[q] > 0
                until = np.inf if for_ever else placed.held_until[q]
                yield b, max(r.now, float(r.end[q])), float(until), self._bytes(int(q))
        for q, b in zip(*self._copies(), strict=True):
            if scarce[b] and self._last_use[q, b] > r.now:
                yield int(b), r.now, float(self._last_use[q, b]), self._bytes(int(q))

    def _bytes(self, q: int) -> Floats:
        amounts = np.zeros(self.limit.shape[1])
        amounts[1] = self.problem.output_bytes[q]
        return amounts


def _problem_of_rest(p: Problem, r: Rest) -> Problem:
    """The problem without lost workers, and with a mode of its own for each paused task."""
    paused = np.flatnonzero(r.left >= 0)
    seconds = p.seconds.copy()
    seconds[:, ~r.alive] = np.inf
    if not len(paused):
        return p._replace(seconds=frozen(seconds))
    mode, begin, end = r.mode[paused], p.mode_begin.copy(), p.mode_end.copy()
    begin[paused] = len(seconds) + np.arange(len(paused))
    end[paused] = begin[paused] + 1
    more = np.full((len(paused), p.n_workers), np.inf)
    more[np.arange(len(paused)), r.pinned[paused]] = r.left[paused]
    return p._replace(
        seconds=frozen(np.vstack([seconds, more])),
        threads=frozen(np.concatenate([p.threads, p.threads[mode]])),
        memory=frozen(np.concatenate([p.memory, p.memory[mode]])),
        demand=frozen(np.concatenate([p.demand, p.demand[mode]])),
        mode_begin=frozen(begin),
        mode_end=frozen(end),
    )


def _old_modes(p: Problem, r: Rest, mode: Ints) -> Ints:
    """Modes among those of the instance: a paused task has its own again."""
    return np.where(mode >= len(p.seconds), r.mode, mode)
