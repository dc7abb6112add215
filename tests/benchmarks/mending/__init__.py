"""What mending makes of plans whose costs were wrong, in emulated runs.

Time of a run that follows a plan made with wrong costs and is mended on the way, over that of a run
with the same plan whose repairs know the true costs from the first look on. No cluster is needed:
the director's `Course` is asked four times a second of emulated time, and tasks that have not begun
go where it says. Half of the graphs are those of the live benchmark, half are random.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from orchestrator_core import Budget, plan
from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Course
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.mending.cases import cases
from tests.benchmarks.mending.emulated import Emulated
from tests.benchmarks.mending.memory import measure_memory

PLANNED = Budget(seconds=60.0, iterations=300)
PLANNERS = ("heft", "heft-near", "local-search")
SEARCHES = {"repairs that search": Budget(seconds=0.0075), "repairs that list": None}
"""The director's own are the first, where a look comes four times a second."""


def measure() -> dict[str, Any]:
    warm_up()
    ratios: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    moves: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for case in cases():
        schedule = plan(case.believed, PLANNED, PLANNERS).schedule
        truth = Instance(case.believed.graph, case.believed.cluster, case.seconds)
        known = Emulated(Course(truth, schedule), case.seconds, None)
        known.run()
        for name, budget in SEARCHES.items():
            run = Emulated(Course(case.believed, schedule), case.seconds, budget)
            run.run()
            ratios[name][case.mistake].append(run.makespan / known.makespan)
            moves[name][case.mistake].append(run.moves)
    return {"memory": measure_memory()} | {
        name: {
            mistake: {
                "runs": len(values),
                "geometric_mean": round(float(np.exp(np.mean(np.log(values)))), 3),
                "worst": round(max(values), 2),
                "tasks_moved": round(float(np.mean(moves[name][mistake])), 1),
            }
            for mistake, values in found.items()
        }
        for name, found in ratios.items()
    }
