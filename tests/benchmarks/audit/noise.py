"""Times that are no whole ticks, though the optimum is nearly that of an instance with whole ones.

Each duration is longer by up to a small part, the spread, and each deadline later by the spread.
Stretch a schedule of the whole instance by the spread, and let each task end as it then does: that
is a schedule of the other one. Let each task of a schedule of the other one end as it does, and
begin later: that keeps all rules of the whole instance but its deadlines, which are exceeded by
less than a tick. Where everything is as early as it can be in that order, all times are whole
ticks, so that deadlines are kept, too.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import TaskGraph
from tests.benchmarks.audit.drawn import Drawn

SPREADS = (1e-3, 1e-5, 1e-7)


def with_noise(seed: int, drawn: Drawn) -> Drawn:
    """The same with noise, which is refused at once no sooner than the whole instance."""
    rng, whole = random.Random(f"noise {seed}"), drawn.instance
    spread = rng.choice(SPREADS)
    noise = np.array([[rng.random() for _ in row] for row in whole.seconds]) * spread
    tasks = [
        replace(task, deadline=None if task.deadline is None else task.deadline * (1 + spread))
        for task in whole.graph.tasks()
    ]
    graph = TaskGraph.from_tasks(tasks, whole.graph.edges())
    try:
        noisy = Instance(graph, whole.cluster, whole.seconds * (1 + noise))
    except InfeasibleInstance as refusal:
        return drawn._replace(whole=whole, refusal=str(refusal))
    return drawn._replace(instance=noisy, whole=whole, spread=spread)
