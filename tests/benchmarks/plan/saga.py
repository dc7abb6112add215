"""All list heuristics of SAGA (ANRG, USC) on our instances, in this process.

SAGA knows related workers, one task at a time each, and links without latency; a duration is cost
over speed. Elsewhere it is not asked. Its schedules are re-timed on our instance, in the same order
and on the same workers, since rounded durations are not quite cost over speed. A schedule that is
not complete does not count: HBMCT of SAGA 2.0.2 loses tasks on many instances.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.decoder import Choice, Decoded, decode, only_threads
from orchestrator_core.plan.engine.expand import Problem, expand

HEURISTICS = (
    "Heft", "Cpop", "PEFT", "DPS", "Hbmct", "Sufferage", "MaxMin", "MinMin", "MCT", "MET", "OLB",
    "MST", "ETF", "FCP", "FLB", "FastestNode", "BIL", "GDL", "Msbc", "WBA",
)  # fmt: skip
"""Names of the classes, without `Scheduler`; what the installed release lacks is left out."""

ROUNDING = 0.05
"""Durations may differ by this part from cost over speed, before workers count as unrelated."""


def installed() -> bool:
    with contextlib.suppress(ImportError):
        return importlib.import_module("saga.schedulers") is not None
    return False


def trouble(instance: Instance) -> str | None:
    """Why SAGA cannot express the instance, or None."""
    problem = expand(instance)
    if not only_threads(problem) or bool((problem.worker_threads > 1).any()):
        return "more than one thread, encoding, memory or resources"
    if len(problem.seconds) != problem.n_tasks or problem.release.any():
        return "modes, counts or releases"
    if np.isfinite(problem.deadline).any() or problem.latency.any():
        return "deadlines or latency"
    if not np.allclose(problem.per_byte, problem.per_byte.T):
        return "links that differ by direction"
    return None if _costs(problem) is not None else "workers that are not related"


def makespans(instance: Instance, seconds: float) -> dict[str, float]:
    """By heuristic; those that fail or take longer than `seconds` are missing."""
    logging.getLogger().setLevel(logging.ERROR)
    schedulers: Any = importlib.import_module("saga.schedulers")
    problem = expand(instance)
    network, graph = _as_saga(problem)
    found = {}
    for name in HEURISTICS:
        scheduler = getattr(schedulers, f"{name}Scheduler", None)
        if scheduler is None:
            continue
        random.seed(0)
        with contextlib.suppress(Exception), _at_most(seconds):
            value = _retimed(problem, scheduler().schedule(network, graph))
            if value is not None:
                found[name] = value
    return found


def _costs(problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """(n,) cost and (w,) speed, if durations are cost over speed but for rounding."""
    if not np.isfinite(problem.seconds).all() or (problem.seconds <= 0).any():
        return _costs_with_zeros(problem)
    logs = np.log(problem.seconds)
    speed = np.exp(-np.average(logs - logs[:, :1], axis=0, weights=problem.seconds[:, 0]))
    cost = (problem.seconds * speed).mean(axis=1)
    off = np.abs(problem.seconds * speed / cost[:, None] - 1)
    return (cost, speed) if np.average(off.max(axis=1), weights=cost) <= ROUNDING else None


def _costs_with_zeros(problem: Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """The same where some tasks take no time, as STG's dummies do: identical workers only."""
    cost = problem.seconds[:, 0]
    if not np.isfinite(cost).all() or (problem.seconds != cost[:, None]).any():
        return None
    return cost, np.ones(problem.n_workers)


def _as_saga(problem: Problem) -> tuple[Any, Any]:
    saga: Any = importlib.import_module("saga")
    costs = _costs(problem)
    assert costs is not None
    w, n = problem.n_workers, problem.n_tasks
    rate = np.where(problem.per_byte > 0, 1 / np.maximum(problem.per_byte, 1e-300), 1e300)
    network = saga.Network.create(
        [(f"w{b}", float(costs[1][b])) for b in range(w)],
        [(f"w{a}", f"w{b}", float(rate[a, b])) for a in range(w) for b in range(a + 1, w)],
    )
    consumer = np.repeat(np.arange(n), np.diff(problem.in_ptr))
    edges = zip(problem.in_task.tolist(), consumer.tolist(), problem.in_bytes.tolist(), strict=True)
    graph = saga.TaskGraph.create(
        [(f"t{t}", float(costs[0][t])) for t in range(n)],
        [(f"t{a}", f"t{b}", nbytes) for a, b, nbytes in edges],
    )
    return network, graph


def _retimed(problem: Problem, schedule: Any) -> float | None:
    """The makespan of the same order and workers here, or None if tasks are missing."""
    rows = [
        (task.start, task.end, int(task.name[1:]), int(worker[1:]))
        for worker, tasks in schedule.items()
        for task in tasks
        if task.name.startswith("t")
    ]
    if len({row[2] for row in rows}) < problem.n_tasks or len(rows) > problem.n_tasks:
        return None
    position = np.empty(problem.n_tasks)
    position[problem.topological] = np.arange(problem.n_tasks)
    rows.sort(key=lambda row: (row[0], row[1], position[row[2]]))
    order = np.array([row[2] for row in rows], dtype=np.int64)
    worker = np.empty(problem.n_tasks, dtype=np.int64)
    worker[order] = [row[3] for row in rows]
    place = np.empty(problem.n_tasks)
    place[order] = np.arange(problem.n_tasks)
    consumer = np.repeat(np.arange(problem.n_tasks), np.diff(problem.in_ptr))
    if (place[problem.in_task] > place[consumer]).any():
        return None
    decoded = decode(problem, Choice(order, worker=worker, in_order=True))
    return float(decoded.end.max()) if isinstance(decoded, Decoded) else None


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raises TimeoutError when the seconds are over; in the main thread."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
