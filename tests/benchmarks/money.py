"""Time against money: plans within a price, and as cheaply as possible by a deadline, against what
is proven: how far above it they are, on random graphs for workers of several speeds and prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from orchestrator_core import Budget, Cluster, Instance, Link, Orchestrator, TaskGraph, Worker, plan
from orchestrator_core.orchestrate.price_limit import price_of
from orchestrator_core.plan.bounds import lower_bound
from orchestrator_core.plan.objectives.bounds import value_bound
from orchestrator_core.plan.warm import warm_up
from orchestrator_core.store.memory import MemoryStore

SIZES, SEEDS = (50, 300), range(100, 102)
PARTS, DEADLINES = (0.1, 0.3, 0.5, 0.7, 0.9), (1.2, 1.7, 2.4, 3.4)
"""Limits from the least price to that of the fastest plan, and deadlines in its makespans."""

QUICK, CALM = Budget(seconds=0.2), Budget(seconds=1.0)

STEPS = 20
"""Halvings of an interval of seconds."""


def measure() -> dict[str, Any]:
    """Per cent above what is proven, median and worst, for each size and budget."""
    warm_up()
    rows = [row for n, seed in product(SIZES, SEEDS) for row in _rows(n, seed)]
    found = {}
    for key in dict.fromkeys((what, n, seconds) for what, n, seconds, *_ in rows):
        above = [100 * (made / least - 1) for *of, made, least in rows if tuple(of) == key]
        name = "{}, {} tasks, {} s".format(*key)
        found[name] = {"median": round(median(above), 2), "worst": round(max(above), 2)}
    return {"% above what is proven": found, "rows": rows}


def _rows(n: int, seed: int) -> Iterator[tuple[str, int, float, float, float]]:
    """What is asked, tasks, seconds of planning; the value of the plan, and what is proven."""
    instance = graph(n, seed)
    fast = plan(instance, CALM)
    cheap = plan(instance, CALM, objective="price").value
    dear = price_of(instance, fast.schedule)
    for part, budget in product(PARTS, (QUICK, CALM)):
        limit = cheap + part * (dear - cheap)
        asked = Orchestrator(MemoryStore(), budget=budget, max_price=limit)
        made = asked.advise(instance.graph, instance.cluster, "flow").plan
        assert made is not None
        assert price_of(instance, made.schedule) <= limit * (1 + 1e-9)
        least = _soonest(instance, limit, made.schedule.makespan)
        yield "soonest within a price", n, budget.seconds, made.schedule.makespan, least
    for times, budget in product(DEADLINES, (QUICK, CALM)):
        result = plan(by(instance, times * fast.makespan), budget, objective="price,makespan")
        yield "cheapest by a deadline", n, budget.seconds, result.value, result.lower_bound


def _soonest(instance: Instance, limit: float, most: float) -> float:
    """Seconds before which no plan ends that costs no more: by them the work costs more."""

    def costs_more(seconds: float) -> bool:
        return value_bound(by(instance, seconds), "price").value > limit * (1 + 1e-9)

    return _last(costs_more, lower_bound(instance).seconds, most)


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number between two, about, for which something holds that holds for all smaller
    ones."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def by(instance: Instance, seconds: float) -> Instance:
    """The same, all of which has to end by then."""
    deadline = np.full(len(instance.graph), seconds)
    deadline.flags.writeable = False
    dated = replace(instance.graph, deadline=deadline)
    return Instance(dated, instance.cluster, instance.seconds)


def graph(n: int, seed: int) -> Instance:
    """Up to two inputs each, anywhere before, on workers of speeds 4, 2, 1 and 1; who is faster
    costs more for the same work."""
    random, builder, names = np.random.default_rng(seed), TaskGraph.build(), list[str]()
    for i in range(n):
        inputs = min(i, int(random.integers(0, 3)))
        after = [names[k] for k in random.choice(i, inputs, replace=False)] if inputs else []
        seconds, nbytes = float(random.lognormal(0.0, 0.7)), float(random.uniform(0.0, 5e7))
        names.append(builder.task(f"t{i}", seconds=seconds, output_bytes=nbytes, after=after))
    workers = [
        Worker("dear", kind="dear", speed=4.0, price=10_800.0),
        Worker("usual", kind="usual", speed=2.0, price=3_600.0),
        Worker("cheap", kind="cheap", price=1_200.0),
        Worker("as cheap", kind="cheap", price=1_200.0),
    ]
    return Instance.price(builder.done(), Cluster(workers, Link(latency=0.001, bandwidth=1e8)))
