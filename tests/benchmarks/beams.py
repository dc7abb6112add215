"""Beams: what they and the local search make, each by itself, of a schedule that a second of local
search has found, on random graphs. The seeds are in no other benchmark."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from orchestrator_core import Budget, Instance
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief, Planner
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.beam_search import BeamSearch
from orchestrator_core.plan.search.local_search import LocalSearch
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.plan.instances import random

FIRST, THEN = 1.0, 1.5
"""Seconds of local search for the first schedule, and of each search from there."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("beams")
    group.add_argument("--from", dest="first", type=int, default=7000, help="the first seed")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Per cent by which schedules are shorter in the mean, and how often one search beats the
    other; each graph with its three makespans."""
    warm_up()
    rows = {}
    for name, instance in _graphs(options.first):
        begin = _found(LocalSearch(), instance, FIRST, _by_heft(instance))
        searches = (LocalSearch(), BeamSearch())
        rows[name] = [begin.makespan]
        rows[name] += [_found(each, instance, THEN, begin).makespan for each in searches]
    local, beams = (_shorter([(row[0], row[k]) for row in rows.values()]) for k in (1, 2))
    return {
        "local search, % shorter": local,
        "beams, % shorter": beams,
        "beams better": sum(row[2] < row[1] * (1 - 1e-9) for row in rows.values()),
        "beams worse": sum(row[2] > row[1] * (1 + 1e-9) for row in rows.values()),
        "rows": rows,
    }


def _graphs(first: int) -> Iterator[tuple[str, Instance]]:
    cases = product(("layered", "erdos"), ((40, 3), (50, 4)), (0.1, 1.0), (False, True), range(2))
    for seed, (shape, (n, w), ccr, related, _) in enumerate(cases, first):
        kind = "related" if related else "unrelated"
        yield f"{shape}-{n}x{w} ccr={ccr:g} {kind} {seed}", random(shape, n, w, ccr, seed, related)


def _by_heft(instance: Instance) -> Schedule:
    schedule = next(iter(LIST_PLANNERS[0].plan(Brief(instance)))).schedule
    assert schedule is not None
    return schedule


def _found(search: Planner, instance: Instance, seconds: float, begin: Schedule) -> Schedule:
    best = begin
    for proposal in search.plan(Brief(instance, Budget(seconds, seed=1), incumbent=begin)):
        best = proposal.schedule or best
    return best


def _shorter(pairs: list[tuple[float, float]]) -> float:
    mean = sum(math.log(before / after) for before, after in pairs) / len(pairs)
    return round(100 * (1 - math.exp(-mean)), 3)
