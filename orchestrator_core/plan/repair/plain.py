"""Placing and bettering the rest where only threads are scarce (stage 3, repair)."""

from __future__ import annotations

import time

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.ranks import upward_rank
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.choosing import GAIN, Option
from orchestrator_core.plan.repair.placing import new_sends, place_rest
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import WAITING, Placement, Sends
from orchestrator_core.plan.repair.searching import search_rest

ROUND = 40_000
"""Tasks that one compiled round of the search places, about 5 to 10 ms of work."""

FREE_PART = 0.7
"""Part of the budget in which the kernel chooses the workers of tasks that were not moved."""

GIVEN = 0.002
"""Part of the makespan that may be given away again for fewer moves."""

HOTTEST = 0.0002
"""Temperature at the beginning of the search, as a part of the makespan."""

REVERSALS = 24
"""Most groups of moves that are tried to be taken back."""


class Plain:
    """Places one rest on threads."""

    def __init__(self, basis: Basis, remains: Remains) -> None:
        self.basis, self.remains = basis, remains
        self.order = remains.order(basis)
        seconds = basis.best_seconds[self.order]
        self.usual = float(seconds.mean()) if len(seconds) else 0.0

    def place(self, order: Ints, prefer: Ints, stick: float = np.inf) -> Option:
        """The waiting tasks in this order, each on its preferred worker where that costs little."""
        makespan, late, placed = place_rest(
            self.basis.problem, self.remains.rest, order, prefer, stick
        )
        return Option(placed, makespan, late, order)

    def options(self) -> list[Option]:
        """Everything where it was planned; then some things elsewhere; then all things anew."""
        kept = self.place(self.order, self.remains.prefer)
        anew = self.place(self.order, self.remains.prefer, 0.0)
        if not kept.value - anew.value > GAIN * kept.value:
            return [kept, anew]
        return [kept, self.place(self.order, self.remains.prefer, self.usual), anew]

    def better(self, option: Option, kept: Option, budget: Budget) -> Option:
        """What a local search finds from an option on; its moves that gain nothing are undone.

        In the first part of the budget the kernel chooses most workers, so that everything adapts
        to a move; in the second part one task moves at a time.
        """
        if not len(self.order):
            return option
        clock = _Clock(budget)
        best = option
        for until in (FREE_PART, 1.0):
            free = until < 1.0
            start = self._start() if free else best
            best = min(best, self._search(start, free, clock, until), key=lambda o: o.value)
        return self._steady(best, kept, option.value, clock) if best is not option else option

    def _start(self) -> Option:
        """The planned order or that of HEFT, whichever is better where all workers are open."""
        nowhere = np.full_like(self.remains.prefer, -1)
        orders = (self.order, self._ranked())
        return min((self.place(o, nowhere) for o in orders), key=lambda option: option.value)

    def _ranked(self) -> Ints:
        """The waiting tasks by upward rank with mean transfers (Topcuoglu 2002)."""
        p = self.basis.problem
        rank = upward_rank(
            p, self.basis.best_seconds, float(p.latency.mean()), float(p.per_byte.mean())
        )
        order = np.lexsort((self.basis.depth[self.order], -rank[self.order]))
        return np.ascontiguousarray(self.order[order])

    def _search(self, start: Option, free: bool, clock: _Clock, until: float) -> Option:
        order, prefer = start.order.copy(), start.placed.worker.copy()
        if free:
            prefer[:] = -1
        best_order, best_prefer = order.copy(), prefer.copy()
        target = self._target()
        while clock.done < until:
            part = clock.done / until
            value, moves = search_rest(
                self.basis.problem,
                self.remains.rest,
                clock.seed,
                min(ROUND, clock.tasks(len(order))),
                max(1e-9, HOTTEST * (1.0 - part)),
                target,
                order,
                prefer,
                best_order,
                best_prefer,
            )
            clock.count(moves)
            if value <= target:
                clock.stop()
        return self.place(best_order, best_prefer)

    def _target(self) -> float:
        """No placement's value is smaller: what has begun must end, and what is left takes time."""
        rest = self.remains.rest
        begun = rest.end[rest.status != WAITING]
        return float(max(rest.now, begun.max(initial=0.0))) * (1 - 1e-12)

    def _steady(self, found: Option, kept: Option, most: float, clock: _Clock) -> Option:
        """The option with as many tasks as possible back on their planned workers."""
        if not kept.value - found.value > GAIN * kept.value:
            # Without a gain worth moving for, only the order may change.
            home = self.place(found.order, self.remains.prefer)
            return min(home, kept, key=lambda option: option.value)
        given = min(0.1 * (kept.value - found.value), GIVEN * found.value)
        limit = min(found.value + given, most)
        for stick in (4.0 * self.usual, self.usual, 0.3 * self.usual):
            option = self.place(found.order, self.remains.prefer, stick)
            if option.value <= limit and self._moves(option) < self._moves(found):
                found = option
                break
        return self._reversed(found, limit, clock)

    def _moves(self, option: Option) -> int:
        """How many tasks are not on their planned workers."""
        planned = self.remains.prefer[self.order]
        away = (planned >= 0) & (option.placed.worker[self.order] != planned)
        return int(np.count_nonzero(away))

    def _reversed(self, found: Option, limit: float, clock: _Clock) -> Option:
        """The option with groups of moves taken back, as long as it stays within the limit."""
        planned, prefer, best = self.remains.prefer, found.placed.worker.copy(), found
        moved = found.order[planned[found.order] >= 0]
        moved = moved[prefer[moved] != planned[moved]]
        groups, tries = [moved] if len(moved) else [], 0
        while groups and tries < REVERSALS and not clock.over:
            group, tries = groups.pop(0), tries + 1
            trial = prefer.copy()
            trial[group] = planned[group]
            option = self.place(found.order, trial)
            if option.value <= limit:
                prefer, best = trial, option
            elif len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
        return best

    def sends(self, placed: Placement) -> Sends:
        """The transfers that the placement needs beside those that have begun."""
        p, r = self.basis.problem, self.remains.rest
        unit, there = new_sends(p, r, placed)
        waiting = r.status[unit] == WAITING
        source = np.where(waiting, placed.worker[unit], r.home[unit])
        sent = np.where(waiting, placed.end[unit], np.maximum(r.now, r.end[unit]))
        way = p.latency[source, there] + p.output_bytes[unit] * p.per_byte[source, there]
        return Sends(unit, source, there, sent, sent, sent + way)


class _Clock:
    """How much of a budget is spent: moves where it counts iterations, else wall seconds."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.moves, self._stopped = budget, 0, False
        self._began = time.perf_counter()

    @property
    def done(self) -> float:
        """From 0 to 1; some of the seconds are kept for taking moves back."""
        if self._stopped:
            return 1.0
        if self.budget.iterations is not None:
            return self.moves / max(1, self.budget.iterations)
        spent = time.perf_counter() - self._began
        reserve = min(0.03, 0.25 * self.budget.seconds)
        return spent / max(1e-9, self.budget.seconds - reserve)

    @property
    def over(self) -> bool:
        """Is all of the budget spent, the kept part too?"""
        spent = time.perf_counter() - self._began
        return self.budget.iterations is None and spent > self.budget.seconds

    @property
    def seed(self) -> int:
        return (self.budget.seed * 1_000_003 + self.moves) % 2**32

    def tasks(self, each: int) -> int:
        """Tasks that the next round may place, of `each` at most for one move."""
        if self.budget.iterations is None:
            return ROUND
        return each * max(1, self.budget.iterations - self.moves)

    def count(self, moves: int) -> None:
        self.moves += max(1, moves)

    def stop(self) -> None:
        self._stopped = True
