"""Crowding: how much longer transfers take because others are under way at the same time.

A link is measured as if each transfer had it for itself, and so is a plan made. How many meet is a
matter of the graph: what its runs took for their transfers together, over what they would have
taken one by one, holds for its next run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live.crowded import crowded
from orchestrator_core.execute.record import RunRecord, TaskRecord

LARGE = 1_000_000.0
"""Bytes from which a transfer counts: smaller ones are a matter of latency."""

ENOUGH = 3
"""Large transfers in a run that are believed."""

MOST, STEPS = 4.0, 4
"""What is believed at most; steps for each doubling, lest each run have other costs."""


def crowding_of(run: RunRecord) -> float | None:
    """By how much (>= 1) its large transfers took longer; None if there were too few."""
    cluster = run.measured or run.cluster
    latency, per_byte = cluster.latency, cluster.seconds_per_byte
    alone, number, fetchers = 0.0, 0, set[str]()
    for producer, consumer in _fetched(run):
        source, here = cluster.index.get(producer.worker), cluster.index.get(consumer.worker)
        if source is None or here is None:
            return None
        alone += float(latency[source, here] + producer.nbytes * per_byte[source, here])
        number += 1
        fetchers.add(consumer.task)
    taken = sum(task.transfer_seconds for task in run.tasks if task.task in fetchers)
    if number < ENOUGH or alone <= 0:
        return None
    return min(max(taken / alone, 1.0), MOST)


def with_crowding(instance: Instance, factor: float) -> Instance:
    """Each byte takes so many times as long on its way."""
    if factor == 1.0:
        return instance
    return replace(instance, cluster=crowded(instance.cluster, factor))


def usual_crowding(found: list[float]) -> float:
    """Of several runs, rounded; 1 if there are none."""
    return float(2.0 ** (round(STEPS * math.log2(median(found))) / STEPS)) if found else 1.0


def _fetched(run: RunRecord) -> Iterator[tuple[TaskRecord, TaskRecord]]:
    """Each large output with the first task on another worker that needed it there."""
    graph = run.planned_graph
    done = {**{task.task: task for task in run.tasks}, **dict(_stored(run))}
    names, seen = graph.names, set[tuple[str, str]]()
    pairs = zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True)
    edges = [(done.get(names[a]), done.get(names[b])) for a, b in pairs]
    known = [(made, used) for made, used in edges if made is not None and used is not None]
    for made, used in sorted(known, key=lambda edge: edge[1].start):
        place = (made.task, used.worker)
        if made.worker != used.worker and made.nbytes >= LARGE and place not in seen:
            seen.add(place)
            yield made, used


def _stored(run: RunRecord) -> Iterator[tuple[str, TaskRecord]]:
    """What was computed before the run, as if made by tasks before it; what one worker had."""
    for name in run.stored:
        task = run.planned_graph.task(name)
        if task.eligible is not None and len(task.eligible) == 1:
            (worker,) = task.eligible
            yield name, TaskRecord(name, task.kind, worker, "", 0.0, 0.0, nbytes=task.output_bytes)
