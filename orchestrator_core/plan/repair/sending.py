"""The transfers that a placement of the rest needs (repair)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.rest import WAITING, Placement, Rest


@compiled
def new_sends(p: Problem, r: Rest, placed: Placement) -> tuple[Ints, Ints]:
    """(task, destination) of each output that a waiting task needs where it is not nor will be."""
    w = len(p.worker_threads)
    sent = np.zeros((len(r.status), w), dtype=np.bool_)
    count = 0
    for t in range(len(r.status)):
        if r.status[t] != WAITING:
            continue
        b = placed.worker[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            here = placed.worker[q] == b
            if r.status[q] != WAITING:
                here = r.home[q] == b or r.present[q, b] < np.inf
            if not here and not sent[q, b]:
                sent[q, b] = True
                count += 1
    unit, destination = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    x = 0
    for q in range(len(r.status)):
        for b in range(w):
            if sent[q, b]:
                unit[x], destination[x] = q, b
                x += 1
    return unit, destination
