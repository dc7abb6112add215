"""Planning what a flow has submitted together with what will follow.

What follows is known from an earlier run: its tasks, their edges (those of 0 bytes from what the
flow's code waits for included), and how long the code pauses between its bursts. A plan knows
nothing of pauses, so it is brought to their pace. Where that makes it longer it is made anew, with
releases at which the bursts go out: a worker that is free while the code thinks would begin what
was planned for later, unless it is held back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.paced import Part, paced
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect.sending.features import features_now, flow_features

LEAST, LEAST_SECONDS = 0.01, 0.1
"""Part of the makespan, and seconds, that the pauses must add for a plan with releases."""

STEPS = 8
"""Releases are rounded down to so many steps in each doubling, so that a stored plan is found again
in spite of small differences."""

Advise = Callable[[TaskGraph], Advice]


def whole_graph(now: TaskGraph, then: TaskGraph, coming: Sequence[Part]) -> TaskGraph:
    """What is submitted now, and what is still to come as it was `then`; without its due times and
    releases, which count from when it was submitted, and with the flow's parameters of now."""
    builder = TaskGraph.build()
    for task in now.tasks():
        builder.add(task)
    parameters = flow_features(now.feature_sets)
    for task in (then.task(name) for names, _ in coming for name in names):
        features = features_now(task.features, parameters)
        builder.add(replace(task, release=0.0, deadline=None, due=None, features=features))
    added = {name for names, _ in coming for name in names}
    for edge in now.edges():
        builder.edge(edge.producer, edge.consumer, edge.nbytes, edge.multiplicity)
    for edge in then.edges():
        if edge.consumer in added and (edge.producer in added or edge.producer in now.index):
            builder.edge(edge.producer, edge.consumer, None if edge.nbytes else 0.0)
    return builder.done()


def look_ahead(
    advise: Advise, graph: TaskGraph, cluster: Cluster, coming: Sequence[Part]
) -> Advice:
    """What to do with a `graph` of which a part is still to come.

    The forecast is for all of it. The bound that is proven leaves the pauses out: it holds however
    long they are.
    """
    first = advise(graph)
    if first.plan is None:
        return first
    at_pace, late = _in_pace(first, graph, cluster, coming)
    if late <= max(LEAST_SECONDS, LEAST * first.plan.schedule.makespan):
        return at_pace
    second = advise(_with_releases(graph, _out(first, graph, cluster, coming)))
    if second.plan is None:
        return at_pace
    bound, method = first.plan.lower_bound, first.plan.bound_method
    plan = replace(second.plan, lower_bound=bound, bound_method=method)
    return _in_pace(replace(second, plan=plan), graph, cluster, coming)[0]


def _in_pace(
    advice: Advice, graph: TaskGraph, cluster: Cluster, coming: Sequence[Part]
) -> tuple[Advice, float]:
    """The advice with a plan that is at the code's pace, and by how many seconds it is longer."""
    plan = advice.plan
    assert plan is not None
    schedule = paced(plan.schedule, graph, cluster, coming).schedule
    late = schedule.makespan - plan.schedule.makespan
    default = plan.default_predicted
    plan = replace(
        plan,
        schedule=schedule,
        predicted=plan.predicted + late,
        default_predicted=None if default is None else default + late,
    )
    return replace(advice, plan=plan), late


def _out(
    advice: Advice, graph: TaskGraph, cluster: Cluster, coming: Sequence[Part]
) -> dict[str, float]:
    """When each task that is still to come goes out."""
    assert advice.plan is not None
    out = paced(advice.plan.schedule, graph, cluster, coming).out
    return {name: at for (names, _), at in zip(coming, out, strict=True) for name in names}


def _with_releases(graph: TaskGraph, out: Mapping[str, float]) -> TaskGraph:
    release = np.array([_rounded(out.get(name, 0.0)) for name in graph.names])
    release = np.maximum(release, graph.release)
    release.flags.writeable = False
    return replace(graph, release=release)


def _rounded(moment: float) -> float:
    if moment <= 0:
        return 0.0
    step = 2.0 ** np.floor(np.log2(moment)) / STEPS
    return float(np.floor(moment / step) * step)
