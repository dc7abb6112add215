"""Whole plans with beams and without, by how much of the workers' time the best schedule loses: on
random graphs of 40 and 50 tasks, whose seeds are in no other benchmark."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from orchestrator_core import Budget, Instance, plan
from orchestrator_core.plan.bounds.area import thread_prices
from orchestrator_core.plan.bounds.prices import priced
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.planner import Planner
from orchestrator_core.plan.portfolio import registered
from orchestrator_core.plan.search.beam_search import BeamSearch
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.plan.instances import random

CLASSES = (0.2, 1 / 3, 1.0)
"""Most that is lost in each class."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("beams_in_plans")
    group.add_argument("--graphs-from", type=int, default=11_000, help="the first seed")
    group.add_argument("--within", type=float, default=2.0, help="seconds for each plan")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """By class of what is lost: the makespan without beams / with, and of how many graphs; then
    each graph with what it loses and both makespans."""
    warm_up()
    without = tuple(planner for planner in registered() if planner.name != "beam")
    always = (*without, BeamSearch(most_lost=1.0))
    rows = {}
    for name, instance in _graphs(options.graphs_from):
        spans = [_makespan(instance, options.within, these) for these in (always, without)]
        rows[name] = [_lost(instance, min(spans)), *spans]
    return {"without / with, by what is lost": _by_class(list(rows.values())), "rows": rows}


def _graphs(first: int) -> Iterator[tuple[str, Instance]]:
    cases = product(("layered", "erdos"), ((40, 3), (50, 4), (50, 8)), (0.3, 1.0, 2.0, 5.0), (0, 1))
    for seed, (shape, (n, w), ccr, related) in enumerate(cases, first):
        kind = "related" if related else "unrelated"
        name = f"{shape}-{n}x{w} ccr={ccr:g} {kind} {seed}"
        yield name, random(shape, n, w, ccr, seed, bool(related))


def _makespan(instance: Instance, seconds: float, planners: tuple[Planner, ...]) -> float:
    return plan(instance, Budget(seconds, seed=1), _registry=planners).schedule.makespan


def _lost(instance: Instance, makespan: float) -> float:
    problem = expand(instance)
    price = thread_prices(problem)
    assert price is not None
    return round(1 - float(priced(best_seconds(problem), price).min(axis=1).sum()) / makespan, 3)


def _by_class(rows: list[list[float]]) -> dict[str, Any]:
    found, least = {}, 0.0
    for most in CLASSES:
        ratios = [without / with_ for lost, with_, without in rows if least <= lost < most]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
        found[f"{least:.0%} to {most:.0%}"] = [mean and round(mean, 4), len(ratios)]
        least = most
    return found
