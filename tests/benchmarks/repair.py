"""Repair of a running plan: its latency through the API, and its quality after 100 ms.

Latency: `replan` with a fresh event each time, from reading the schedule on. Quality: the makespan
of the repair that may search for 100 ms, over that of a plan of the same rest from nothing in ten
times that time (list schedule and local search); both count from the start of the run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from orchestrator_core import Budget, Cluster, Edge, Instance, Schedule, Task, TaskGraph, plan
from orchestrator_core.plan.repair import Event, Failed, Replan, Running, WorkerLost, replan
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.plan.instances import layered
from tests.by_hand import memory_peak

SEARCH = Budget(seconds=0.1)
SCRATCH_SECONDS = 1.0
SEVERAL_LISTS = Budget(seconds=0.5)
"""HEFT alone puts all on one worker where encoding takes threads."""

SCRATCH_PLANNERS = ("heft", "local-search")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("repair")
    group.add_argument("--events", type=int, default=50, help="events of a kind; default: 50")
    group.add_argument("--seeds", type=int, default=5, help="graphs of a size; default: 5")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    warm_up()
    instance = layered(5_000, 16, 1.0, 1)
    schedule = first_plan(instance)
    latency = {
        "threads only": _latencies(instance, schedule, options.events),
        "encoding and memory": _latencies(*scarce(instance), max(1, options.events // 5)),
    }
    quality = {f"{n} x {w}": _qualities(n, w, options.seeds) for n, w in ((1_000, 16), (5_000, 16))}
    return {"latency": latency, "quality after 100 ms": quality}


def first_plan(instance: Instance) -> Schedule:
    """That of HEFT: the plan that is repaired."""
    return plan(instance, Budget(seconds=0.0), ["heft"]).schedule


def scarce(instance: Instance) -> tuple[Instance, Schedule]:
    """The instance with encodings and with 10 % more memory than its plan takes, and its plan."""
    old = instance.cluster
    cluster = _cluster(old, [worker.memory for worker in old.workers])
    loose = Instance(instance.graph, cluster, instance.seconds)
    schedule = plan(loose, SEVERAL_LISTS).schedule
    peak = memory_peak(loose, schedule)
    cluster = _cluster(old, [1.1 * peak.get(name, 0.0) + 1.0 for name in old.names])
    return Instance(instance.graph, cluster, instance.seconds), schedule


def _cluster(old: Cluster, memory: Sequence[float], workers: int = 0) -> Cluster:
    """A cluster with other memory, where encoding takes a tenth of the way; or with one more
    worker like the first."""
    place = [*range(len(old)), *([0] * workers)]
    way = old.seconds_per_byte[np.ix_(place, place)].copy()
    latency = old.latency[np.ix_(place, place)].copy()
    if workers:
        way[-1, 0] = way[0, -1] = way[0, 1]
        latency[-1, 0] = latency[0, -1] = latency[0, 1]
    encode = old.encode_seconds_per_byte[np.ix_(place, place)] if workers else 0.1 * way
    members = [replace(old.workers[i], memory=memory[i]) for i in place]
    members = [replace(w, name=f"new{i}") if i >= len(old) else w for i, w in enumerate(members)]
    return Cluster.from_matrices(
        members, latency=latency, seconds_per_byte=way, encode_seconds_per_byte=encode
    )


def _latencies(instance: Instance, schedule: Schedule, times: int) -> dict[str, dict[str, float]]:
    found = {}
    for kind in KINDS:
        seconds, cpu = [], []
        rng = np.random.default_rng(0)
        for number in range(times + 1):
            changed, now, events = _happens(kind, instance, schedule, rng)
            began, cpu_began = time.perf_counter(), time.process_time()
            replan(changed, schedule, now, events)
            if number:  # the first may compile
                seconds.append(time.perf_counter() - began)
                cpu.append(time.process_time() - cpu_began)
        found[kind] = {
            "median_ms": round(1e3 * statistics.median(seconds), 2),
            "p99_ms": round(1e3 * float(np.quantile(seconds, 0.99)), 2),
            "median_cpu_ms": round(1e3 * statistics.median(cpu), 2),
        }
    return found


KINDS = ("late", "failed", "worker lost", "other durations", "new tasks", "worker joined")


def _happens(
    kind: str, instance: Instance, schedule: Schedule, rng: np.random.Generator
) -> tuple[Instance, float, list[Event]]:
    """(the instance as it is now, now, events) of a random event between 20 and 80 % of the run."""
    names, cluster = schedule.task_names, instance.cluster
    running = np.zeros(0, dtype=np.int64)
    while not len(running):
        now = float(rng.uniform(0.2, 0.8)) * schedule.makespan
        running = np.flatnonzero((schedule.start < now) & (schedule.end > now))
    row = int(rng.choice(running))
    task, end = names[schedule.task[row]], float(schedule.end[row])
    match kind:
        case "late":
            return instance, now, [Running(task, end + (end - float(schedule.start[row])))]
        case "failed":
            return instance, now, [Failed(task)]
        case "worker lost":
            return instance, now, [WorkerLost(str(rng.choice(cluster.names)))]
        case "other durations":
            factor = np.where(rng.random(len(instance.seconds)) < 0.05, 2.0, 1.0)
            return replace(instance, seconds=instance.seconds * factor[:, None]), now, []
        case "new tasks":
            return _with_tasks(instance, rng), now, []
    return _with_worker(instance), now, []


def _with_tasks(instance: Instance, rng: np.random.Generator) -> Instance:
    """Ten more tasks, each with two producers among the others."""
    graph, old = instance.graph, len(instance.graph)
    fresh = [f"new{i}" for i in range(10)]
    producer = rng.choice(old, size=20, replace=False)
    more = TaskGraph.from_tasks(
        [*graph.tasks(), *(Task(name) for name in fresh)],
        [*graph.edges(), *(Edge(graph.names[a], fresh[i // 2]) for i, a in enumerate(producer))],
    )
    rows = instance.seconds[rng.choice(old, size=10)]
    return Instance(more, instance.cluster, np.vstack([instance.seconds, rows]))


def _with_worker(instance: Instance) -> Instance:
    """One more worker, like the first."""
    old = instance.cluster
    cluster = _cluster(old, [worker.memory for worker in old.workers], 1)
    seconds = np.column_stack([instance.seconds, instance.seconds[:, 0]])
    return Instance(instance.graph, cluster, seconds)


def _qualities(n: int, w: int, seeds: int) -> dict[str, Any]:
    """Makespans of repairs over those of plans from scratch, and how much was moved."""
    ratios: dict[str, list[float]] = {"kept": [], "at once": [], "searched": []}
    moved: dict[str, list[float]] = {"at once": [], "searched": []}
    for seed in range(1, seeds + 1):
        instance = layered(n, w, 1.0, seed)
        schedule, rng = first_plan(instance), np.random.default_rng(seed)
        for kind in ("late", "worker lost", "other durations"):
            changed, now, events = _happens(kind, instance, schedule, rng)
            found = {"at once": replan(changed, schedule, now, events)}
            found["searched"] = replan(changed, schedule, now, events, budget=SEARCH)
            scratch = _from_scratch(found["at once"])
            ratios["kept"].append(found["at once"].kept_makespan / scratch)
            for name, result in found.items():
                ratios[name].append(result.makespan / scratch)
                waiting = len(result.moved) + len(result.kept)
                moved[name].append(len(result.moved) / max(1, waiting))
    return {
        "cases": len(ratios["kept"]),
        "makespan_over_scratch": {name: _spread(values) for name, values in ratios.items()},
        "moved_share": {name: _spread(values) for name, values in moved.items()},
    }


def _from_scratch(result: Replan) -> float:
    """The makespan of the same rest, planned from nothing; seconds from the start of the run."""
    rest = result.remainder
    best = plan(rest.instance, Budget(seconds=SCRATCH_SECONDS), SCRATCH_PLANNERS)
    return best.makespan - (rest.now - result.now)


def _spread(values: list[float]) -> dict[str, float]:
    some = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return {name: round(value, 4) for name, value in some.items()}
