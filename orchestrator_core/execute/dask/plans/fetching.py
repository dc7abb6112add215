"""Fetching: what was computed before has to come to the workers where a plan wants its readers.

A plan reckons with the outputs of its own tasks. What `persist` or `scatter` has put somewhere it
knows nothing of, and Dask sends tasks to where their inputs are. A plan that gains less by its
workers than it loses by what they fetch is not followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

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
    run, beyond what its tasks would have to fetch where some of their inputs are."""
    graph, cluster = run.snapshot, run.cluster
    if not graph.stored:
        return 0.0
    links = _Links(cluster, graph.stored)
    places = [cluster.index.get(name, -1) for name in schedule.worker_names]
    extra, fetched = [0.0] * len(cluster), set[tuple[int, Key]]()
    reads = _reads(run)
    for task, place in zip(schedule.task.tolist(), schedule.worker.tolist(), strict=True):
        sources, at = reads.get(schedule.task_names[task], ()), places[place]
        if not sources or at < 0:
            continue
        own = sum([links.to(source)[at] for source in sources if (at, source) not in fetched])
        fetched.update([(at, source) for source in sources])
        if own > 0:
            extra[at] += max(0.0, own - links.least(sources))
    return max(extra)


def _reads(run: GraphRun) -> dict[str, list[Key]]:
    """By task, what it reads that was there before the run. What as many tasks read as there are
    workers is left out: Dask has to send it around, too."""
    graph = run.snapshot
    inputs = [[each for each in sources if each in graph.stored] for sources in graph.inputs]
    often = Counter(chain.from_iterable(inputs))
    common = {source for source, readers in often.items() if readers >= len(run.cluster)}
    if common:
        inputs = [[each for each in sources if each not in common] for sources in inputs]
    return {name: found for name, found in zip(graph.names, inputs, strict=True) if found}


class _Links:
    """How long each stored output takes to each worker of a cluster."""

    def __init__(self, cluster: Cluster, stored: Mapping[Key, Stored]) -> None:
        self._cluster, self._stored = cluster, stored
        # The chunks of an array are alike.
        self._known: dict[Stored, list[float]] = {}

    def to(self, key: Key) -> list[float]:
        """(w,) seconds; 0 where it is, and everywhere if none of the workers has it."""
        output = self._stored[key]
        found = self._known.get(output)
        if found is None:
            found = self._known[output] = self._seconds(output)
        return found

    def least(self, keys: Sequence[Key]) -> float:
        """Seconds of all these to the worker with some of them that waits least for the others."""
        if len(keys) == 1:
            return 0.0
        index = self._cluster.index
        holders = {name for key in keys for name in self._stored[key].workers if name in index}
        each = [self.to(key) for key in keys]
        return min((sum([to[index[name]] for to in each]) for name in holders), default=0.0)

    def _seconds(self, output: Stored) -> list[float]:
        cluster = self._cluster
        holders = [cluster.index[name] for name in output.workers if name in cluster.index]
        if not holders:
            return [0.0] * len(cluster)
        each = cluster.latency[holders] + output.nbytes * cluster.seconds_per_byte[holders]
        found: list[float] = each.min(axis=0).tolist()
        return found
