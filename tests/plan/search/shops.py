"""Random job shops, and what each schedule of one must keep."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.compiled import interpreted
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.search.general_shop import ShopEngine
from orchestrator_core.plan.search.shop_state import Shop, measure

JOBS, MACHINES = 5, 4

MEASURE = interpreted(measure)


def shop(seed: int, jobs: int = JOBS) -> tuple[Project, Shop]:
    """A random job shop in which each machine runs its tasks by their place in their jobs."""
    rng = np.random.default_rng(seed)
    seconds = np.full((jobs * MACHINES, MACHINES), np.inf)
    for job in range(jobs):
        for place, machine in enumerate(rng.permutation(MACHINES)):
            seconds[job * MACHINES + place, machine] = rng.integers(1, 30)
    edges = [(t, t + 1, 0.0) for t in range(jobs * MACHINES) if (t + 1) % MACHINES]
    engine = ShopEngine(Instance.from_arrays(seconds, edges), MAKESPAN, Budget(seed=seed))
    places = np.arange(jobs * MACHINES) % MACHINES
    engine._sequence(np.lexsort((rng.random(len(places)), places)))
    return engine.project, engine._shop


def check(p: Project, s: Shop) -> None:
    """All tasks of a machine run one after the other, and all of a job."""
    MEASURE(p, s)
    end = s.head + s.seconds
    for t in range(len(s.head)):
        assert all(s.head[t] >= end[q] for q in p.in_task[p.in_ptr[t] : p.in_ptr[t + 1]])
        if s.before[t] >= 0:
            assert s.after[s.before[t]] == t
            assert s.machine[s.before[t]] == s.machine[t]
            assert s.head[t] >= end[s.before[t]]
    assert np.count_nonzero(s.before < 0) == MACHINES
