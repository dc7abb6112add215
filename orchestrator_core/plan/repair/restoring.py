"""Taking back moves that do not pay, one by one, with prefix re-use (stage 3, repair)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.placing import STRIDE, empty_solution, lanes_now, place_turns
from orchestrator_core.plan.repair.rest import Rest
from orchestrator_core.plan.repair.searching import PENALTY, copy_turns, tails


@compiled
def restore_places(
    p: Problem, r: Rest, work: int, limit: float, planned: Ints, order: Ints, prefer: Ints
) -> int:
    """Put tasks back on their planned workers while the value stays within `limit` seconds, from
    the last turn on, since late turns are placed again soonest; how many were put back.

    Groups of them were measured to go back hardly ever where single tasks do.

    Args:
        work: about so many tasks are placed for it; beyond, no other task is tried.
        planned: (n,) planned workers, or -1. prefer: (n,) all workers; changed in place.
    """
    many, lanes, done, back = len(order), lanes_now(p, r, len(order)), 0, 0
    here, trial = empty_solution(r, many, lanes), empty_solution(r, many, lanes)
    ready, tail = np.empty(len(p.worker_threads)), tails(p, r)
    place_turns(p, r, order, prefer, np.inf, 0, np.inf, PENALTY, tail, lanes, ready, here)
    copy_turns(here, trial, order, 0, many)
    for turn in range(many - 1, -1, -1):
        t = order[turn]
        if planned[t] < 0 or prefer[t] == planned[t]:
            continue
        if done >= work:
            break
        first, moved_to = turn // STRIDE * STRIDE, prefer[t]
        prefer[t] = planned[t]
        makespan, late, past = place_turns(
            p, r, order, prefer, np.inf, first, limit, PENALTY, tail, lanes, ready, trial
        )
        done += past - first
        if makespan + PENALTY * late <= limit and trial.placed.worker[t] == planned[t]:
            copy_turns(trial, here, order, first, many)
            back += 1
        else:
            prefer[t] = moved_to
            copy_turns(here, trial, order, first, past)
    return back
