"""An adversary looks for small instances on which plan() is far from the best."""

from __future__ import annotations

import argparse
import math
from typing import Any

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.plan import saga
from tests.plan.adversary import Worst, search
from tests.plan.exhaustive import smallest_makespan


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("adversary")
    group.add_argument("--tries", type=int, default=300, help="instances of each search")
    group.add_argument("--starts", type=int, default=5, help="searches against each rival")
    group.add_argument("--milliseconds", type=float, default=100.0, help="of each plan")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The worst ratio of ours to the optimum of 7 tasks, and to SAGA's best of 12."""
    warm_up()
    found = {"optimum": _worst(options, _optimum, tasks=7, workers=3)}
    if saga.installed():
        found["saga"] = _worst(options, _best_of_saga, tasks=12, workers=4, related=True)
    return found


def _worst(options: argparse.Namespace, others: Any, **size: Any) -> dict[str, Any]:
    def ours(instance: Instance) -> float:
        return plan(instance, Budget(seconds=options.milliseconds / 1000)).makespan

    starts: list[Worst] = [
        search(ours, others, tries=options.tries, seed=seed, **size)
        for seed in range(options.starts)
    ]
    worst = max(starts, key=lambda each: each.ratio)
    small = worst.small
    return {
        "instances": sum(each.tried for each in starts),
        "worst_ratio": round(worst.ratio, 4),
        "worst_instance": {
            "seconds": small.seconds.tolist(),
            "bytes": small.nbytes.tolist(),
            "seconds_per_byte": small.links.tolist(),
        },
    }


def _optimum(instance: Instance, known: float) -> float:
    return smallest_makespan(instance, known)


def _best_of_saga(instance: Instance, known: float) -> float:
    """SAGA's best, or ours where it cannot express the instance."""
    if saga.trouble(instance) is not None:
        return known
    return min(saga.makespans(instance, seconds=5.0).values(), default=math.inf)
