"""Fetching: what was computed before has to come to the workers where a plan wants its readers.

A plan reckons with the outputs of its own tasks. What `persist` or `scatter` has put somewhere it
knows nothing of, and Dask sends tasks to where their inputs are. A plan that gains less by its
workers than it loses by what they fetch is not followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.graphs.stored import Stored
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.schedule import Schedule


def beside_inputs(advice: Advice, run: GraphRun, longer: float = 0.0) -> Advice:
    """The advice, but for a plan of the run that, with what its workers have to fetch first, may
    take longer than Dask by more than the part `longer`."""
    plan = advice.plan
    if plan is None or not plan.adopted or plan.default_predicted is None or not advice.is_by_time:
        return advice
    seconds = fetching(run, plan.schedule)
    if seconds <= 0 or plan.predicted + seconds <= (1.0 + longer) * plan.default_predicted:
        return advice
    reason = (
        f"left to Dask: {plan.predicted:.3g} s planned against {plan.default_predicted:.3g} s by "
        f"Dask, and up to {seconds:.3g} s more to fetch inputs from where they are"
    )
    return replace(advice, plan=replace(plan, adopted=False, reason=reason), reason=reason)


def fetching(run: GraphRun, schedule: Schedule) -> float:
    """Seconds for which the one worker fetches that has most to fetch of what was there before the
    run, beyond what its tasks would have to fetch on any worker."""
    graph, cluster = run.snapshot, run.cluster
    if not graph.stored:
        return 0.0
    links = _Links(cluster, graph.stored)
    reads = {
        key: [source for source in sources if source in graph.stored]
        for key, sources in zip(graph.keys, graph.inputs, strict=True)
    }
    # What as many tasks read as there are workers, Dask has to send around, too.
    often = Counter(source for sources in reads.values() for source in sources)
    extra, fetched = [0.0] * len(cluster), set[tuple[int, Key]]()
    for task, place in zip(schedule.task.tolist(), schedule.worker.tolist(), strict=True):
        key = graph.key_of.get(schedule.task_names[task])
        at = cluster.index.get(schedule.worker_names[place])
        sources = [each for each in reads.get(key, ()) if often[each] < len(cluster)]
        if at is None or not sources:
            continue
        seconds = np.array([links.seconds(source) for source in sources])
        new = [(at, source) not in fetched for source in sources]
        fetched.update((at, source) for source in sources)
        least = float(seconds.sum(axis=0).min())
        extra[at] += max(0.0, float(seconds[new, at].sum()) - least)
    return max(extra)


class _Links:
    """How long each stored output takes to each worker of a cluster."""

    def __init__(self, cluster: Cluster, stored: Mapping[Key, Stored]) -> None:
        self._cluster, self._stored = cluster, stored
        # The chunks of an array are alike.
        self._known: dict[Stored, Sequence[float]] = {}

    def seconds(self, key: Key) -> Sequence[float]:
        """(w,) seconds; 0 where it is, and everywhere if none of the workers has it."""
        output = self._stored[key]
        if output not in self._known:
            self._known[output] = self._to_each(output)
        return self._known[output]

    def _to_each(self, output: Stored) -> Sequence[float]:
        cluster = self._cluster
        holders = [cluster.index[name] for name in output.workers if name in cluster.index]
        if not holders:
            return [0.0] * len(cluster)
        each = cluster.latency[holders] + output.nbytes * cluster.seconds_per_byte[holders]
        return np.asarray(each.min(axis=0)).tolist()  # type: ignore[no-any-return]
