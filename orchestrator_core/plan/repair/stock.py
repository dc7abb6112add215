"""Modes of the rest where tasks take from a stock: as planned, or thriftier (repair)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.blocking import without
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING


def with_modes(basis: Basis, remains: Remains) -> Remains:
    """The same rest where the stock suffices whatever the modes; otherwise every waiting task has
    its mode, and what the stock does not suffice for is blocked, the last tasks first."""
    return _Modes(basis, remains).chosen()


class _Modes:
    """The choice of modes; (m, s) `takes`: what each mode takes of each thing in stock."""

    def __init__(self, basis: Basis, remains: Remains) -> None:
        self.basis, self.remains, self.rest = basis, remains, remains.rest
        graph, stock = basis.instance.graph, basis.instance.cluster.stock
        names = sorted({name for demand in graph.demands for name in demand.consumes})
        each = np.array([[d.consumes.get(name, 0.0) for name in names] for d in graph.demands])
        self.takes: Floats = each.reshape(-1, len(names))[graph.demand_of]
        have = np.array([stock.get(name, 0.0) for name in names])
        self.share = (self.takes / np.maximum(have, 1e-300)).sum(axis=1)
        r = self.rest
        begun = (r.status == RUNNING) | (r.status == ENDED) | (r.left >= 0)
        self.left = have * (1 + 1e-12) - self.takes[r.mode[begun]].sum(axis=0)
        self.units = np.flatnonzero((r.status == WAITING) & (r.fixed_mode < 0))

    def chosen(self) -> Remains:
        if self._suffices():
            return self.remains
        thrifty = self._thriftiest()
        planned = self.rest.mode[self.units]
        keep = self.remains.known[self.units] & self._possible()[planned]
        mode = np.where(keep, planned, thrifty)
        saved = self.share[mode] - self.share[thrifty]
        for i in np.argsort(-saved, kind="stable").tolist():
            if self._fits(mode) or saved[i] <= 0:
                break
            mode[i] = thrifty[i]
        fixed = self.rest.fixed_mode.copy()
        fixed[self.units] = mode
        remains = replace(self.remains, rest=self.rest._replace(fixed_mode=fixed))
        return without(self.basis, remains, self._too_many(mode))

    def _too_many(self, mode: Ints) -> Ints:
        """The last tasks, as many as the stock does not suffice for."""
        latest, out = np.argsort(-self.remains.wish[self.units], kind="stable"), []
        taken, over = self.takes[mode].sum(axis=0), self.takes[mode] > 0
        for i in latest.tolist():
            if (over[i] & (taken > self.left)).any():
                out.append(int(self.units[i]))
                taken = taken - self.takes[mode[i]]
        return np.array(out, dtype=np.int64)

    def _suffices(self) -> bool:
        """For the modes of each task that take the most."""
        p = self.basis.problem
        most = [self.takes[p.mode_begin[u] : p.mode_end[u]].max(axis=0) for u in self.units]
        return bool((np.sum(most, axis=0) <= self.left).all())

    def _fits(self, mode: Ints) -> bool:
        return bool((self.takes[mode].sum(axis=0) <= self.left).all())

    def _possible(self) -> np.ndarray:
        """(m,) may the mode run on some worker that is left?"""
        seconds = self.basis.problem.seconds[:, self.rest.alive]
        return np.asarray(np.isfinite(seconds).any(axis=1))

    def _thriftiest(self) -> Ints:
        """Of each task, the possible mode that takes the smallest part of the stock."""
        p = self.basis.problem
        share = np.where(self._possible(), self.share, np.inf)
        begin, end = p.mode_begin[self.units].tolist(), p.mode_end[self.units].tolist()
        best = [b + int(np.argmin(share[b:e])) for b, e in zip(begin, end, strict=True)]
        return np.array(best, dtype=np.int64)
