"""Compiling in a forecast: each process compiles a kind of tasks once, before its first of them.

It is no work of the task, so nobody learns it as its time, and a plan knows nothing of it: where it
is compiled changes little, as each worker that takes such a task compiles. But the run takes
longer, and that is forecast.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.plan.schedule import Schedule

LEAST_SECONDS = 0.05
"""What adds less is not spoken of."""


def with_compiling(advice: Advice, prepared: Mapping[str, Collection[str]]) -> Advice:
    """The advice whose forecast holds what the workers that take part compile first.

    Args:
        prepared: by worker, the kinds of tasks that its process has compiled already.
    """
    plan, instance = advice.plan, advice.instance
    if plan is None or instance is None or not advice.setup:
        return advice
    added, workers = _added(instance, plan.schedule, advice.setup, prepared)
    if added < LEAST_SECONDS:
        return advice
    who = "one worker process that has" if workers == 1 else f"{workers} worker processes that have"
    reason = f"{plan.reason}; {added:.3g} s of the forecast are for compiling, in {who} not yet"
    default = plan.default_predicted
    longer = replace(
        plan,
        predicted=plan.predicted + added,
        # Who puts tasks elsewhere compiles too.
        default_predicted=None if default is None else default + added,
        reason=reason,
    )
    return replace(advice, plan=longer, reason=reason)


def _added(
    instance: Instance,
    schedule: Schedule,
    setup: Mapping[str, float],
    prepared: Mapping[str, Collection[str]],
) -> tuple[float, int]:
    """By how many seconds the schedule gets longer, and how many workers compile."""
    from orchestrator_core.execute.simulate.replay import replay

    graph, cluster = instance.graph, instance.cluster
    seconds, met = np.array(instance.seconds), set[tuple[str, str]]()
    for row in sorted(schedule.assignments, key=lambda each: each.start):
        place = graph.index[row.task]
        kind = graph.kind(place)
        first = (row.worker, kind) not in met and kind not in prepared.get(row.worker, ())
        met.add((row.worker, kind))
        if first and kind in setup:
            modes = slice(graph.mode_ptr[place], graph.mode_ptr[place + 1])
            seconds[modes, cluster.index[row.worker]] += setup[kind]
    compiling = np.flatnonzero((seconds != instance.seconds).any(axis=0))
    longer = replay(instance, schedule, seconds).makespan - replay(instance, schedule).makespan
    return max(0.0, longer), len(compiling)
