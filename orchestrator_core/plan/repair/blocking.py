"""What cannot run as things are: it is left out of a repair, and named (stage 3, repair)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import BLOCKED, WAITING


def impossible(basis: Basis, remains: Remains) -> Ints:
    """The waiting single tasks that may run on none of the workers that are left."""
    r, p = remains.rest, basis.problem
    if r.alive.all():
        return np.zeros(0, dtype=np.int64)
    possible = np.isfinite(p.seconds[:, r.alive]).any(axis=1)
    waiting = np.flatnonzero(r.status == WAITING)
    runs = np.logical_or.reduceat(possible, basis.instance.graph.mode_ptr[:-1])[p.task[waiting]]
    return waiting[~runs]


def without(basis: Basis, remains: Remains, units: Ints) -> Remains:
    """The rest in which these waiting single tasks, and all waiting ones that need them, are
    blocked."""
    if not len(units):
        return remains
    rest = remains.rest
    out = with_consumers(basis.problem, rest.status, units)
    fields = ("status", "start", "end", "home", "present", "left", "busy_until")
    changed = {name: getattr(rest, name).copy() for name in fields}
    changed["status"][out], changed["home"][out], changed["left"][out] = BLOCKED, -1, -1.0
    changed["start"][out] = changed["end"][out] = changed["busy_until"][out] = 0.0
    changed["present"][out, :] = np.inf
    later = remains.later.chosen(~np.isin(remains.later.unit, out))
    done = {unit: pieces for unit, pieces in remains.done.items() if unit not in set(out.tolist())}
    return replace(remains, rest=rest._replace(**changed), later=later, done=done)


def with_consumers(p: Problem, status: Ints, units: Ints) -> Ints:
    """The single tasks and all waiting ones that need them, directly or not. What has begun has got
    what it needs, and what has ended can still be used."""
    found = set(units.tolist())
    todo = list(found)
    while todo:
        unit = todo.pop()
        for other in p.out_task[p.out_ptr[unit] : p.out_ptr[unit + 1]].tolist():
            if status[other] == WAITING and other not in found:
                found.add(other)
                todo.append(other)
    return np.array(sorted(found), dtype=np.int64)
