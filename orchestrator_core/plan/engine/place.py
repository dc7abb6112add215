"""From a choice to a schedule that keeps every rule, or the reason why there is none (stage 3).

The decoder knows nothing of deadlines and of stock, and may meet a dead end where memory is scarce;
here these are looked after: with orders that use up outputs sooner, at last on a single worker,
with modes that consume less, and with an honest word where that does not help.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.decoder import Choice, DeadEnd, Decoded, decode, to_schedule
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.ranks import depth_first_order
from orchestrator_core.plan.engine.thrift import thrifty_choices
from orchestrator_core.plan.schedule import Schedule


def place(instance: Instance, choice: Choice) -> Schedule | str:
    """The schedule of the choice, or a short sentence on why it has none."""
    problem = expand(instance)
    decoded = _first_that_fits(instance, problem, choice)
    if isinstance(decoded, Decoded) and exceeded_stock(instance, decoded.mode):
        frugal = thrifty(problem, choice, thrifty_modes(instance, problem))
        decoded = _first_that_fits(instance, problem, frugal)
    if isinstance(decoded, str):
        return decoded
    broken = exceeded_stock(instance, decoded.mode) or missed_deadline(instance, decoded)
    return broken or to_schedule(instance, decoded)


def _first_that_fits(instance: Instance, problem: Problem, choice: Choice) -> Decoded | str:
    found: Decoded | DeadEnd | None = None
    for each, reserve in _ways(problem, choice):
        found = decode(problem, each, reserve=reserve)
        if isinstance(found, Decoded):
            return found
    assert isinstance(found, DeadEnd)
    name = instance.graph.names[problem.task[found.task]]
    return f"no worker has memory left for task {name!r} in this order"


def _ways(problem: Problem, choice: Choice) -> Iterator[tuple[Choice, bool]]:
    """The order as it is, then one that follows outputs to their last use, each in both ways of
    keeping memory, then orders that hold as little as possible; all but the first matter only
    where memory is scarce."""
    yield choice, True
    yield choice, False
    urgency = np.empty(problem.n_tasks)
    urgency[choice.order] = -np.arange(problem.n_tasks, dtype=np.float64)
    deep = replace(choice, order=depth_first_order(problem, urgency))
    yield deep, True
    yield deep, False
    for simple in thrifty_choices(problem):
        worker = choice.worker if simple.worker is None else simple.worker
        yield replace(choice, order=simple.order, worker=worker), True


def exceeded_stock(instance: Instance, mode: Ints) -> str | None:
    """What the modes (positions among all modes) consume beyond the stock, in words, or None."""
    graph, stock = instance.graph, instance.cluster.stock
    times = np.bincount(graph.demand_of[mode], minlength=len(graph.demands))
    for name in sorted({name for demand in graph.demands for name in demand.consumes}):
        each = np.array([demand.consumes.get(name, 0.0) for demand in graph.demands])
        total, have = float(each @ times), stock.get(name, 0.0)
        if total > have + 1e-9 * max(1.0, have):
            return f"its modes consume {total:g} {name}; the stock is {have:g}"
    return None


def thrifty(problem: Problem, choice: Choice, mode: Ints) -> Choice:
    """The choice with these modes; tasks that may not run so where they were are freed."""
    worker = choice.worker
    if worker is not None:
        may = np.isfinite(problem.seconds[mode, np.maximum(worker, 0)])
        worker = np.where(may & (worker >= 0), worker, -1)
    return replace(choice, mode=mode, worker=worker)


def thrifty_modes(instance: Instance, problem: Problem) -> Ints:
    """(n,) the mode that takes the least of what the stock has, of each single task."""
    graph, stock = instance.graph, instance.cluster.stock
    share = np.array(
        [
            sum(amount / max(stock.get(name, 0.0), 1e-300) for name, amount in d.consumes.items())
            for d in graph.demands
        ]
    )[graph.demand_of]
    share[~np.isfinite(instance.seconds).any(axis=1)] = np.inf
    least = np.repeat(np.minimum.reduceat(share, graph.mode_ptr[:-1]), np.diff(graph.mode_ptr))
    modes = np.flatnonzero(share == least)
    first = modes[np.searchsorted(modes, graph.mode_ptr[:-1])]
    return np.asarray(first[problem.task], dtype=np.int64)


def missed_deadline(instance: Instance, decoded: Decoded) -> str | None:
    """The first task that ends after its deadline, in words, or None."""
    problem = expand(instance)
    slack = 1e-9 * max(1.0, float(decoded.end.max(initial=0.0)))
    late = decoded.end > problem.deadline + slack
    if not late.any():
        return None
    worst = int(np.argmax(late))
    name = instance.graph.names[problem.task[worst]]
    return (
        f"task {name!r} would end at {decoded.end[worst]:g} s, after its deadline of "
        f"{problem.deadline[worst]:g} s"
    )
