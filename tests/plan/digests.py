"""A digest of many plans, to compare processes and machines."""

from __future__ import annotations

import hashlib

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import PlanningFailed
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.portfolio import plan, registered
from tests.random_instances import FLAGS, random_instance


def digest_of_plans(iterations: int = 50) -> str:
    """Of the schedules of one instance for each constraint, by planners in this process: by the
    lists, whose best the searches would hide, and by all of them."""
    lists = [p.name for p in registered() if p.lane is Lane.LIST]
    searches = [p.name for p in registered() if p.lane is Lane.SEARCH]
    digest = hashlib.sha256()
    for number, flag in enumerate((None, *FLAGS)):
        rng = np.random.default_rng(number)
        instance = random_instance(rng, 12, 3, **({flag: True} if flag else {}))
        for names in (lists, lists + searches):
            digest.update(_found(instance, Budget(iterations=iterations, seed=number), names))
    return digest.hexdigest()


def _found(instance: Instance, budget: Budget, names: list[str]) -> bytes:
    try:
        return plan(instance, budget, names).schedule.to_json()
    except PlanningFailed as error:
        return str(error).encode()
