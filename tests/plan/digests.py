"""A digest of many plans, to compare processes and machines."""

from __future__ import annotations

import hashlib

import numpy as np

from orchestrator_core.errors import PlanningFailed
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.portfolio import plan, registered
from tests.random_instances import FLAGS, random_instance


def digest_of_plans(iterations: int = 50) -> str:
    """Of the schedules of one instance for each constraint, by planners in this process."""
    names = [p.name for p in registered() if p.lane in (Lane.LIST, Lane.SEARCH)]
    digest = hashlib.sha256()
    for number, flag in enumerate((None, *FLAGS)):
        rng = np.random.default_rng(number)
        instance = random_instance(rng, 12, 3, **({flag: True} if flag else {}))
        try:
            found = plan(instance, Budget(iterations=iterations, seed=number), names)
        except PlanningFailed as error:
            digest.update(str(error).encode())
        else:
            digest.update(found.schedule.to_json())
    return digest.hexdigest()
