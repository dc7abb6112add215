"""Placing and bettering the rest where only threads are scarce (stage 3, repair)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.ranks import upward_rank
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.choosing import Option, worthwhile
from orchestrator_core.plan.repair.clock import ROUND, Clock
from orchestrator_core.plan.repair.placing import place_rest
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import WAITING, Placement, Sends
from orchestrator_core.plan.repair.restoring import restore_places
from orchestrator_core.plan.repair.searching import search_rest
from orchestrator_core.plan.repair.sending import new_sends

FREE_PART = 0.7
"""Part of the budget in which the kernel chooses the workers of tasks that were not moved."""

GIVEN = 0.002
"""Part of the makespan that may be given away again for fewer moves."""

HOTTEST = 0.0002
"""Temperature at the beginning of the search, as a part of the makespan."""

STICK = 0.5
"""Mean durations by which a task must end sooner elsewhere to leave its planned worker while the
kernel chooses. With 0 four times as many tasks are moved as with 1; the makespan is no better."""

RESTORING = 100_000
"""Tasks that are placed for taking moves back, about 20 ms of work."""


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
        if not worthwhile(anew, kept):
            return [kept, anew]
        return [kept, self.place(self.order, self.remains.prefer, self.usual), anew]

    def better(self, option: Option, kept: Option, budget: Budget) -> Option:
        """What a local search finds from an option on; its moves that gain nothing are undone.

        In the first part of the budget the kernel chooses most workers, so that everything adapts
        to a move; in the second part one task moves at a time.
        """
        if not len(self.order):
            return option
        clock = Clock(budget)
        best = option
        for until in (FREE_PART, 1.0):
            free = until < 1.0
            start = self._start() if free else best
            best = min(best, self._search(start, free, clock, until), key=lambda o: o.rank)
        return self._steady(best, kept, option.value, clock) if best is not option else option

    def _start(self) -> Option:
        """The planned order or that of HEFT, whichever is better where all workers are open."""
        orders, stick = (self.order, self._ranked()), STICK * self.usual
        options = (self.place(order, self.remains.prefer, stick) for order in orders)
        return min(options, key=lambda option: option.rank)

    def _ranked(self) -> Ints:
        """The waiting tasks by upward rank with mean transfers (Topcuoglu 2002)."""
        p = self.basis.problem
        rank = upward_rank(
            p, self.basis.best_seconds, float(p.latency.mean()), float(p.per_byte.mean())
        )
        order = np.lexsort((self.basis.depth[self.order], -rank[self.order]))
        return np.ascontiguousarray(self.order[order])

    def _search(self, start: Option, free: bool, clock: Clock, until: float) -> Option:
        order, prefer = start.order.copy(), start.placed.worker.copy()
        stick = np.inf
        if free:
            prefer, stick = self.remains.prefer.copy(), STICK * self.usual
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
                stick,
                order,
                prefer,
                best_order,
                best_prefer,
            )
            clock.count(moves)
            if value <= target:
                clock.stop()
        return self.place(best_order, best_prefer, stick)

    def _target(self) -> float:
        """No placement's value is smaller: what has begun must end, and what is left takes time."""
        rest = self.remains.rest
        begun = rest.end[rest.status != WAITING]
        return float(max(rest.now, begun.max(initial=0.0))) * (1 - 1e-12)

    def _steady(self, found: Option, kept: Option, most: float, clock: Clock) -> Option:
        """The option with as many tasks as possible back on their planned workers."""
        if not worthwhile(found, kept):
            # Without a gain worth moving for, only the order may change.
            home = self.place(found.order, self.remains.prefer)
            return min(home, kept, key=lambda option: option.rank)
        given = min(0.25 * (kept.value - found.value), GIVEN * found.value)
        limit = min(found.value + given, most)
        for stick in (4.0 * self.usual, self.usual, 0.3 * self.usual):
            option = self.place(found.order, self.remains.prefer, stick)
            near = option.rank <= (not found.punctual, limit)
            if near and self._moves(option) < self._moves(found):
                found = option
                break
        return found if clock.over else self._restored(found, limit)

    def _moves(self, option: Option) -> int:
        """How many tasks are not on their planned workers."""
        planned = self.remains.prefer[self.order]
        away = (planned >= 0) & (option.placed.worker[self.order] != planned)
        return int(np.count_nonzero(away))

    def _restored(self, found: Option, limit: float) -> Option:
        """The option with single tasks back where they were planned, within the limit."""
        prefer = found.placed.worker.copy()
        back = restore_places(
            self.basis.problem,
            self.remains.rest,
            RESTORING,
            limit,
            self.remains.prefer,
            found.order,
            prefer,
        )
        option = self.place(found.order, prefer) if back else found
        return option if option.punctual or not found.punctual else found

    def sends(self, placed: Placement) -> Sends:
        """The transfers that the placement needs beside those that have begun."""
        p, r = self.basis.problem, self.remains.rest
        unit, there = new_sends(p, r, placed)
        waiting = r.status[unit] == WAITING
        source = np.where(waiting, placed.worker[unit], r.home[unit])
        sent = np.where(waiting, placed.end[unit], np.maximum(r.now, r.end[unit]))
        way = p.latency[source, there] + p.output_bytes[unit] * p.per_byte[source, there]
        return Sends(unit, source, there, sent, sent, sent + way)
