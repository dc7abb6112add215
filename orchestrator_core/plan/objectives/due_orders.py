"""Orders of tasks against tardiness, as choices for the decoder (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand, frozen
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import ready_order

MOST_READY = 4_000
"""Single tasks up to which priorities are worked out anew at every step."""

LOOK_AHEAD = (0.5, 2.0, 6.0)
"""Values of k in the apparent tardiness cost: the smaller, the later a due date is felt."""


def due_orders(instance: Instance) -> Iterator[Choice]:
    """EDD, then ATC with several look-aheads, then WSPT, all with due dates and weights handed back
    to the producers of what has them.

    EDD: J. R. Jackson, 1955. ATC: A. P. J. Vepsalainen, T. E. Morton: Priority rules for job shops
    with weighted tardiness costs. Management Science 33(8), 1987. WSPT: W. E. Smith, 1956.
    """
    problem = expand(instance)
    shortest = best_seconds(problem).min(axis=1)
    due, weight = _handed_back(instance, problem, shortest)
    finite = due[np.isfinite(due)]
    far = float(finite.max(initial=0.0)) + float(shortest.sum()) + 1.0
    yield Choice(ready_order(problem, -np.where(np.isfinite(due), due, far)))
    if problem.n_tasks <= MOST_READY:
        for k in LOOK_AHEAD:
            yield Choice(_by_apparent_cost(problem, shortest, due, weight, k))
    work = np.maximum(shortest, 1e-9 * max(1.0, float(shortest.max(initial=0.0))))
    yield Choice(ready_order(problem, weight / work))


def _handed_back(instance: Instance, problem: Problem, shortest: Floats) -> tuple[Floats, Floats]:
    """(n,) due dates less what must follow, and the largest weight that waits for the task."""
    graph = instance.graph
    due = np.array(graph.due[problem.task])
    weight = np.where(np.isfinite(due), graph.weight[problem.task], 0.0)
    due[weight <= 0] = np.inf
    for t in problem.topological[::-1].tolist():
        after = problem.out_task[problem.out_ptr[t] : problem.out_ptr[t + 1]]
        if len(after):
            due[t] = min(due[t], float((due[after] - shortest[after]).min()))
            weight[t] = max(weight[t], float(weight[after].max()))
    return due, weight


def _by_apparent_cost(
    problem: Problem, shortest: Floats, due: Floats, weight: Floats, k: float
) -> Ints:
    """Again and again the ready task with the largest apparent tardiness cost,
    ``weight / seconds * exp(-max(0, due - seconds - now) / (k * mean seconds))``, where now is when
    all threads together would have done what comes before."""
    mean = float(shortest.mean()) or 1.0
    gain = np.log(np.maximum(weight, 1e-12) / np.maximum(shortest, 1e-9 * mean))
    spent = shortest / float(problem.worker_threads.sum())
    latest, most = frozen(due - shortest), 1e12 * mean
    return _most_urgent_first(problem, frozen(gain), latest, frozen(spent), most, k * mean)


@compiled
def _most_urgent_first(
    p: Problem, gain: Floats, latest: Floats, spent: Floats, most: float, scale: float
) -> Ints:
    """(n,) always the ready task of the largest ``gain - slack / scale``; no slack is above `most`,
    so that those without a due date come last."""
    n = len(gain)
    order, ready = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    left, count, now = p.in_ptr[1:] - p.in_ptr[:-1], 0, 0.0
    for t in range(n):
        if left[t] == 0:
            ready[count] = t
            count += 1
    for x in range(n):
        best, urgency = 0, -np.inf
        for r in range(count):
            t = ready[r]
            found = gain[t] - min(max(0.0, latest[t] - now), most) / scale
            if found > urgency:
                best, urgency = r, found
        t = ready[best]
        order[x] = t
        now += spent[t]
        count -= 1
        ready[best:count] = ready[best + 1 : count + 1]
        for e in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[e]
            left[c] -= 1
            if left[c] == 0:
                ready[count] = c
                count += 1
    return order
