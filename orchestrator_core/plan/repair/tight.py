"""Placing and bettering the rest where more than threads is scarce (stage 3, repair)."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.ranks import depth_first_order
from orchestrator_core.plan.engine.thrift import homes
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.choosing import Option, worthwhile
from orchestrator_core.plan.repair.crowded import Crowd, Crowded
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import WAITING
from orchestrator_core.plan.repair.thrift import thrifty_orders

QUICK = 2_000
"""Tasks times workers up to which several ways of placing all of them anew are tried."""


class Tight:
    """Places one rest on profiles."""

    def __init__(self, basis: Basis, remains: Remains) -> None:
        self.basis, self.remains = basis, remains
        self.order = remains.order(basis)
        self.crowd = Crowd(basis, remains)
        reserves = (True, False) if (self.crowd.limit[:, 1] < np.inf).any() else (False,)
        self._ways = [(in_order, reserve) for in_order in (True, False) for reserve in reserves]

    def options(self) -> list[Option]:
        """Everything where it was planned, in several ways; then all things anew."""
        nowhere = np.full_like(self.remains.prefer, -1)
        kept = self._kept()
        anew = self._anew(self.order, nowhere)
        if kept is None and anew is None:
            anew = self._thrifty()
        moved = None if anew is None else replace(anew, stays=False)
        return [option for option in (kept, moved) if option is not None]

    def partial(self) -> tuple[Option, Ints]:
        """A placement of what fits, and the tasks that do not (and those that need them)."""
        order = next(thrifty_orders(self.basis.problem, self.remains.rest.status), self.order)
        placed, unplaced = self.crowd.place_some(order)
        option = self._option(np.setdiff1d(order, unplaced), placed)
        return replace(option, stays=False), unplaced

    def _thrifty(self) -> Option | None:
        """The first order that holds few bytes and fits, on any workers or on a single one."""
        rest = self.remains.rest
        orders = (self._deep(), *thrifty_orders(self.basis.problem, rest.status))
        places = [np.full_like(self.remains.prefer, b) for b in (-1, *homes(self.crowd.problem))]
        for order in orders:
            for prefer in places:
                found = self._best(order, prefer)
                if found is not None:
                    return found
        return None

    def _kept(self) -> Option | None:
        """The plan's order, also of its transfers; if need be, no sooner than planned."""
        prefer = self._alive(self.remains.prefer)
        found = [self._best(self.order, self.remains.prefer)]
        for reserve, as_planned in ((False, False), (True, False), (False, True)):
            placed = self.crowd.place(
                self.order,
                prefer,
                in_order=True,
                reserve=reserve,
                sends=self.remains.later,
                as_planned=as_planned,
            )
            found.append(None if placed is None else self._option(self.order, placed))
        options = [option for option in found if option is not None]
        return min(options, key=lambda option: option.rank, default=None)

    def _anew(self, order: Ints, nowhere: Ints) -> Option | None:
        """All things on any worker: in several ways where that is quick, else in the first one that
        finds room, since every worker is looked at for every task."""
        if len(order) * self.basis.problem.n_workers <= QUICK:
            return self._best(order, nowhere)
        prefer = self._alive(nowhere)
        for in_order, reserve in reversed(self._ways):
            placed = self.crowd.place(order, prefer, in_order=in_order, reserve=reserve)
            if placed is not None:
                return self._option(order, placed)
        return None

    def better(self, option: Option, kept: Option, budget: Budget) -> Option:
        """A plain descent: one task at a time gets another turn or another worker."""
        rng = np.random.default_rng(budget.seed)
        began, steps, best = time.perf_counter(), 0, option
        order, prefer = option.order, self._prefer(option)
        while len(order) and not self._over(budget, began, steps):
            steps += 1
            new_order, new_prefer = self._move(rng, order, prefer)
            found = self._best(new_order, new_prefer)
            if found is not None and found.rank <= best.rank:
                order, prefer, best = new_order, new_prefer, found
        return best if worthwhile(best, kept) or option is not kept else kept

    def _over(self, budget: Budget, began: float, steps: int) -> bool:
        if budget.iterations is not None:
            return steps >= budget.iterations
        spent = time.perf_counter() - began
        return spent * (1 + 1 / max(1, steps)) >= budget.seconds

    def _prefer(self, option: Option) -> Ints:
        waiting = self.remains.rest.status == WAITING
        return np.where(waiting, option.placed.worker, -1)

    def _move(self, rng: np.random.Generator, order: Ints, prefer: Ints) -> tuple[Ints, Ints]:
        p, at = self.basis.problem, int(rng.integers(len(order)))
        t = int(order[at])
        if rng.random() < 0.5:
            prefer = prefer.copy()
            prefer[t] = int(rng.integers(-1, p.n_workers))
            modes = p.seconds[p.mode_begin[t] : p.mode_end[t], prefer[t]]
            if prefer[t] >= 0 and not np.isfinite(modes).any():
                prefer[t] = -1
            return order, prefer
        turn = np.full(p.n_tasks, -1, dtype=np.int64)
        turn[order] = np.arange(len(order))
        low = int(turn[p.in_task[p.in_ptr[t] : p.in_ptr[t + 1]]].max(initial=-1)) + 1
        after = turn[p.out_task[p.out_ptr[t] : p.out_ptr[t + 1]]]
        high = int(after[after >= 0].min(initial=len(order))) - 1
        to = int(rng.integers(low, max(low, high) + 1))
        return np.insert(np.delete(order, at), to, t), prefer

    def _best(self, order: Ints, prefer: Ints) -> Option | None:
        prefer = self._alive(prefer)
        tried = (
            self.crowd.place(order, prefer, in_order=in_order, reserve=reserve)
            for in_order, reserve in self._ways
        )
        found = [self._option(order, placed) for placed in tried if placed is not None]
        return min(found, key=lambda option: option.rank, default=None)

    def _alive(self, prefer: Ints) -> Ints:
        """The preferences without workers on which a task may no longer run."""
        p = self.crowd.problem
        modes = np.repeat(np.arange(p.n_tasks), p.mode_end - p.mode_begin)
        index = _ranges(p.mode_begin, p.mode_end)
        mine = prefer[modes] >= 0
        can = np.zeros(p.n_tasks, dtype=np.bool_)
        fixed = self.remains.rest.fixed_mode[modes]
        fine = np.isfinite(p.seconds[index[mine], prefer[modes[mine]]])
        fine &= (fixed[mine] < 0) | (fixed[mine] == index[mine])
        np.logical_or.at(can, modes[mine], fine)
        return np.where(can, prefer, -1)

    def _option(self, order: Ints, found: Crowded) -> Option:
        r, p = self.remains.rest, self.basis.problem
        end = found.placed.end[order]
        begun = r.end[r.status != WAITING].max(initial=0.0)
        late = float(np.maximum(0.0, end - p.deadline[order]).sum())
        return Option(found.placed, float(end.max(initial=begun)), late, order, found.sends)

    def _deep(self) -> Ints:
        """The order that uses outputs up soonest, for where memory is scarce."""
        urgency = np.zeros(self.basis.problem.n_tasks)
        urgency[self.order] = -np.arange(len(self.order), dtype=np.float64)
        deep = depth_first_order(self.basis.problem, urgency)
        return np.ascontiguousarray(deep[self.remains.rest.status[deep] == WAITING])


def _ranges(begin: Ints, end: Ints) -> Ints:
    """All of ``begin[i] .. end[i] - 1``, one after the other."""
    sizes = end - begin
    offset = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
    return np.asarray(offset + np.arange(int(sizes.sum())), dtype=np.int64)
