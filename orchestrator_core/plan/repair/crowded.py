"""Placing the rest where more than threads is scarce, with the general kernel (stage 3, repair).

The kernel begins with what is left behind: running tasks on their workers, outputs where they are
held, transfers on their way. Then it places the waiting tasks as it would in an empty cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import capacity
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.engine.general import place_on_profiles
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent, empty_draft
from orchestrator_core.plan.engine.profiles import Profiles
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.begun import Begun
from orchestrator_core.plan.repair.blocking import with_consumers
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import WAITING, Placement, Rest, Sends


@dataclass(frozen=True, slots=True)
class Crowded:
    """A placement of the waiting tasks and the transfers that are new with it."""

    placed: Placement
    sends: Sends


class Crowd:
    """Places one rest again and again."""

    def __init__(self, basis: Basis, remains: Remains) -> None:
        self.basis, self.remains = basis, remains
        self.problem = _problem_of_rest(basis.problem, remains.rest)
        self.begun = Begun(self.problem, remains, capacity(basis.problem))
        self.limit = self.begun.limit
        p = self.problem
        self._draft = empty_draft(int(np.diff(p.in_ptr).max(initial=1)), self.limit.shape[1])
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
        r = self.remains.rest
        early = self.remains.later.none() if sends is None else sends
        earliest = np.concatenate([r.earliest, np.full(len(early.unit), r.now)])
        if as_planned:
            wish = np.where(np.isfinite(self.remains.wish), self.remains.wish, 0.0)
            earliest = np.maximum(earliest, np.concatenate([wish, early.sent]))
        items = self._merged(order, early)
        while True:
            state = self._state(prefer, early, earliest, in_order=in_order, reserve=reserve)
            done = state.go(items)
            if not state.profiles.pool[1]:
                return self._read(state) if done == len(items) else None
            self._steps *= 2

    def place_some(self, order: Ints) -> tuple[Crowded, Ints]:
        """What fits of the order, and the tasks that do not, with those that need them."""
        early, earliest = self.remains.later.none(), self.remains.rest.earliest
        nowhere, status = np.full_like(self.remains.prefer, -1), self.remains.rest.status
        while True:
            state = self._state(nowhere, early, earliest, in_order=False, reserve=True)
            left, out = order, np.zeros(0, dtype=np.int64)
            while (done := state.go(left)) < len(left) and not state.profiles.pool[1]:
                stuck = with_consumers(self.problem, status, left[done : done + 1])
                out = np.union1d(out, stuck)
                left = np.ascontiguousarray(left[done + 1 :][~np.isin(left[done + 1 :], out)])
            if not state.profiles.pool[1]:
                return self._read(state), out
            self._steps *= 2

    def _state(
        self, prefer: Ints, early: Sends, earliest: Floats, *, in_order: bool, reserve: bool
    ) -> _State:
        r = self.remains.rest
        return _State(
            problem=self.problem,
            pairs=np.ascontiguousarray(np.column_stack([early.unit, early.destination])),
            earliest=earliest,
            worker=np.where(r.pinned >= 0, r.pinned, prefer),
            mode=np.where(r.left >= 0, -1, r.fixed_mode),
            in_order=in_order,
            reserve=reserve,
            profiles=self.begun.profiles(self._steps, reserve=reserve),
            placed=self.begun.placed(),
            sent=self.begun.sent(len(early.unit)),
            draft=self._draft,
        )

    def _read(self, state: _State) -> Crowded:
        r, n, placed, sent = self.remains.rest, self.problem.n_tasks, state.placed, state.sent
        mode = _old_modes(self.basis.problem, r, placed.mode)
        new = slice(len(self.begun.copied), int(sent.used[0]))
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


@dataclass(frozen=True, slots=True)
class _State:
    """The general kernel in the middle of a placement."""

    problem: Problem
    pairs: Ints
    earliest: Floats
    worker: Ints
    mode: Ints
    in_order: bool
    reserve: bool
    profiles: Profiles
    placed: Placed
    sent: Sent
    draft: Draft

    def go(self, items: Ints) -> int:
        """Place more items; how many of them could be placed."""
        return int(
            place_on_profiles(
                self.problem, items, self.pairs, self.earliest, self.worker, self.mode,
                np.zeros((0, 0)), self.in_order, self.reserve, self.profiles, self.placed,
                self.sent, self.draft,
            )
        )  # fmt: skip


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
