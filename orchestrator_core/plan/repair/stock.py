"""Modes of the rest where tasks take from a stock: as planned, or the thriftiest (repair)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import WAITING


def with_modes(basis: Basis, remains: Remains) -> Remains:
    """The same rest, in which every waiting task has its mode."""
    graph, stock, r = basis.instance.graph, basis.instance.cluster.stock, remains.rest
    share = np.array(
        [
            sum(amount / max(stock.get(name, 0.0), 1e-300) for name, amount in d.consumes.items())
            for d in graph.demands
        ]
    )[graph.demand_of]
    p, fixed = basis.problem, r.fixed_mode.copy()
    possible = np.asarray(np.isfinite(p.seconds[:, r.alive]).any(axis=1))
    for unit in np.flatnonzero((r.status == WAITING) & (fixed < 0)).tolist():
        planned = int(r.mode[unit])
        if remains.known[unit] and possible[planned]:
            fixed[unit] = planned
            continue
        modes = np.arange(p.mode_begin[unit], p.mode_end[unit])
        fixed[unit] = modes[np.argmin(np.where(possible[modes], share[modes], np.inf))]
    return replace(remains, rest=r._replace(fixed_mode=fixed))
