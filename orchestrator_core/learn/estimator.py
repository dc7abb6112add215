"""The estimator: observations in, a cost model out.

After a single run each task was seen once, on one worker. What it would take on the others follows
from how workers compare over all kinds together (`effects.py`), once the part of a duration that no
worker makes shorter is taken off (`overhead.py`). The more is seen, the more a single task, and a
kind on a worker kind, count for themselves. Workers of one kind that clearly differ become kinds of
their own (`apart.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.learn.apart import tell_apart
from orchestrator_core.learn.columns import Columns, columns_of
from orchestrator_core.learn.effects import Effects
from orchestrator_core.learn.features import explained
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.learn.learned import (
    FeatureCosts,
    KindCosts,
    NamedWorker,
    PairCosts,
    TaskCosts,
    WorkerCosts,
)
from orchestrator_core.learn.levels import levelled
from orchestrator_core.learn.measured_overhead import MeasuredOverhead
from orchestrator_core.learn.overhead import overheads
from orchestrator_core.learn.sizes import Sizes, device_memory_of, memory_of, setup_of, sizes_of
from orchestrator_core.learn.solver import solve


def fit(
    observations: Iterable[Observation], speeds: Mapping[str, float] | None = None
) -> HistoryCosts:
    """What these executions teach.

    Args:
        observations: the newest run first, as a store gives them; a run that is `HALF_LIFE` runs
            old counts half. Durations that are not finite and > 0 are ignored.
        speeds: declared `Worker.speed` by worker kind: what to believe of workers as long as
            little is observed. Default: all alike.
    """
    columns = columns_of(observations)
    if not len(columns):
        return HistoryCosts()
    columns = MeasuredOverhead.of(columns).filled_into(columns)
    declared = dict(speeds or {})
    columns, features = explained(columns, _prior(columns, declared))
    columns = levelled(columns, _prior(columns, declared))
    finer, overhead = _finer_kinds(columns, declared)
    named = _named(columns, finer)
    if named:
        columns = columns.with_workers(finer)
    prior = _prior(columns, declared)
    effects = solve(columns, overhead, prior)
    return HistoryCosts(
        kinds=_kinds(columns, effects, overhead, sizes_of(columns), features),
        workers=_workers(columns, effects, declared),
        interaction=effects.interaction,
        named=named,
    )


def _finer_kinds(columns: Columns, declared: Mapping[str, float]) -> tuple[tuple[str, ...], Floats]:
    """The kind of each of `columns.names`, and the (kinds,) overhead."""
    plain = tuple(kind for kind, _ in columns.names)
    prior = _prior(columns, declared)
    overhead = overheads(columns, prior)
    finer = tell_apart(columns, overhead, prior)
    if finer == plain:
        return plain, overhead
    # Workers that differ tell what no worker makes shorter, and that tells how they differ.
    apart = columns.with_workers(finer)
    overhead = overheads(apart, _prior(apart, declared))
    return tell_apart(columns, overhead, prior), overhead


def _named(columns: Columns, finer: Sequence[str]) -> tuple[NamedWorker, ...]:
    return tuple(
        NamedWorker(kind, name, new)
        for (kind, name), new in zip(columns.names, finer, strict=True)
        if new != kind
    )


def _prior(columns: Columns, declared: Mapping[str, float]) -> Floats:
    """(v,) the log slowness that the declared speeds promise."""
    speeds = [_speed(declared, kind) or 1.0 for kind in columns.worker_kinds]
    return np.asarray(-np.log(np.maximum(speeds, 1e-9)))


def _speed(declared: Mapping[str, float], kind: str) -> float | None:
    return declared.get(kind, declared.get(plain_kind(kind)))


def _kinds(
    columns: Columns,
    effects: Effects,
    overhead: Floats,
    sizes: Sizes,
    features: Sequence[tuple[FeatureCosts, ...]],
) -> tuple[KindCosts, ...]:
    seen = np.zeros(effects.pair.shape, dtype=bool)
    seen[columns.kind, columns.worker] = True
    samples = np.bincount(columns.kind, minlength=len(columns.kinds))
    memory, device, setup = memory_of(columns), device_memory_of(columns), setup_of(columns)
    measured = MeasuredOverhead.of(columns)
    tasks: list[list[TaskCosts]] = [[] for _ in columns.kinds]
    for i, (kind, (_, name)) in enumerate(
        zip(columns.kind_of_task.tolist(), columns.tasks, strict=True)
    ):
        size = _known(sizes.task[i])
        tasks[kind].append(
            TaskCosts(name, float(effects.task[i]), float(effects.task_variance[i]), size)
        )
    return tuple(
        KindCosts(
            kind=kind,
            samples=int(samples[k]),
            log_seconds=float(effects.kind[k]),
            overhead=float(overhead[k] if np.isnan(measured.usual[k]) else measured.usual[k]),
            between=float(effects.between[k]),
            noise=float(effects.noise[k]),
            unsure=tuple(effects.slowness_variance[k].tolist()),
            nbytes=_known(sizes.kind[k]),
            pairs=_pairs(columns, effects, k, np.flatnonzero(seen[k]).tolist()),
            tasks=tuple(tasks[k]),
            memory=_known(memory[k]),
            device_memory=_known(device[k]),
            setup=_known(setup[k]),
            overheads=_overheads(columns, measured.on[k]),
            features=features[k],
        )
        for k, kind in enumerate(columns.kinds)
    )


def _overheads(columns: Columns, seconds: Floats) -> tuple[tuple[str, float], ...]:
    """Of one kind, by worker kind; `seconds` are NaN where nobody measured."""
    known = zip(columns.worker_kinds, seconds.tolist(), strict=True)
    return tuple((kind, overhead) for kind, overhead in known if not np.isnan(overhead))


def _pairs(columns: Columns, effects: Effects, k: int, workers: list[int]) -> tuple[PairCosts, ...]:
    return tuple(
        PairCosts(
            columns.worker_kinds[v], float(effects.pair[k, v]), float(effects.pair_variance[k, v])
        )
        for v in workers
    )


def _workers(
    columns: Columns, effects: Effects, declared: Mapping[str, float]
) -> tuple[WorkerCosts, ...]:
    samples = np.bincount(columns.worker, minlength=len(columns.worker_kinds))
    return tuple(
        WorkerCosts(
            kind=kind,
            samples=int(samples[v]),
            log_seconds=float(effects.worker[v]),
            speed=_speed(declared, kind),
        )
        for v, kind in enumerate(columns.worker_kinds)
    )


def _known(size: float) -> float | None:
    return None if np.isnan(size) else float(size)
