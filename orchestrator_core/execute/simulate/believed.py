"""What Dask knows of an instance, as arrays for compiled code."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInstance
from orchestrator_core.execute.simulate.kernel.beliefs import Beliefs
from orchestrator_core.execute.simulate.kernel.stealing import LEVELS
from orchestrator_core.graph.task_graph import Floats, Ints, TaskGraph
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.settings.dask_policy import DaskPolicy

ROOT_DEPENDENCIES = 5
"""A root-like kind depends on fewer kinds, and on fewer tasks, than this."""

MOVE = 0.1
"""Seconds that a move is believed to cost beside its bytes."""


def beliefs(
    instance: Instance, problem: Problem, mode: Ints, seconds: Floats, policy: DaskPolicy
) -> Beliefs:
    """Where workers that seem alike are taken in the cluster's own order; see `reordered`.

    Args:
        mode: (u,) of each unit. seconds: (kinds,) believed durations.
    """
    graph, w = instance.graph, problem.n_workers
    kind = graph.kind_of[problem.task]
    anywhere = np.asarray(instance.eligible.all(axis=1))
    per_byte = float(problem.per_byte.sum()) / max(1, w * (w - 1))
    root_like = _root_like(graph, int(problem.worker_threads.sum()))
    own = np.arange(w, dtype=np.int64)
    return Beliefs(
        seconds=frozen(seconds[kind]),
        seconds_per_byte=frozen(np.array([per_byte])),
        anywhere=_whole(anywhere),
        may=_whole(instance.eligible),
        queued=_whole(root_like[kind] & anywhere[mode]),
        level=frozen(_levels(problem, seconds[kind], per_byte)),
        turn=frozen(own),
        order=frozen(own),
        room=_room(problem, policy),
        interval=frozen(np.array([policy.interval])),
        phase=frozen(np.array([policy.interval / 2])),
        lot=_whole(np.random.default_rng(0).permutation(problem.n_tasks)),
    )


def reordered(known: Beliefs, seed: int) -> Beliefs:
    """Workers that seem alike are taken in another order, and other work is stolen at other
    moments; 0 for the same."""
    if not seed:
        return known
    turn, dice = list(range(len(known.turn))), random.Random(seed)
    dice.shuffle(turn)
    return known._replace(
        turn=_whole(turn),
        order=_whole(np.argsort(turn)),
        phase=frozen(known.interval * dice.random()),
        lot=_whole(np.random.default_rng(seed).permutation(len(known.lot))),
    )


def first_modes(instance: Instance) -> Ints:
    """(n,) the first mode of each task that may run anywhere."""
    graph, runs = instance.graph, instance.eligible.any(axis=1)
    modes = np.where(runs, np.arange(graph.n_modes), graph.n_modes)
    first = np.minimum.reduceat(modes, graph.mode_ptr[:-1]) if len(graph) else modes
    return np.asarray(first, dtype=np.int64)


def expected(instance: Instance, believed: Mapping[str, float]) -> Floats:
    """(kinds,) seconds that are believed of each kind on any worker."""
    graph = instance.graph
    seconds = instance.seconds[first_modes(instance)]
    finite = np.isfinite(seconds)
    kinds = len(graph.kinds)
    total = np.bincount(graph.kind_of, np.where(finite, seconds, 0.0).sum(axis=1), kinds)
    number = np.bincount(graph.kind_of, finite.sum(axis=1), kinds)
    mean = total / np.maximum(number, 1)
    for kind, value in enumerate(believed.get(name, mean[k]) for k, name in enumerate(graph.kinds)):
        if not 0 <= value < math.inf:
            raise InvalidInstance(
                f"believed seconds of kind {graph.kinds[kind]!r} are {value!r}; "
                "they must be finite and >= 0"
            )
        mean[kind] = value
    return np.asarray(mean, dtype=np.float64)


def _root_like(graph: TaskGraph, threads: int) -> NDArray[np.bool_]:
    """(kinds,) `is_rootish`"""
    kinds = len(graph.kinds)
    members = np.bincount(graph.kind_of, graph.count, kinds)
    needs = graph.kind_of[graph.consumer] * kinds + graph.kind_of[graph.producer]
    kind, other = np.divmod(np.unique(needs), max(1, kinds))
    few_kinds = np.bincount(kind, minlength=kinds) < ROOT_DEPENDENCIES
    few_tasks = np.bincount(kind, members[other], kinds) < ROOT_DEPENDENCIES
    return np.asarray((members > 2 * threads) & few_kinds & few_tasks)


def _room(problem: Problem, policy: DaskPolicy) -> Ints:
    """(w,) never more than there are."""
    room = np.ceil(policy.saturation * problem.worker_threads)
    return _whole(np.minimum(room, problem.n_tasks))


def _levels(problem: Problem, seconds: Floats, per_byte: float) -> Ints:
    """(u,) `steal_time_ratio`: 0 without inputs, -1 where a move is never worth it."""
    inputs = np.diff(problem.in_ptr)
    unit = np.repeat(np.arange(len(inputs)), inputs)
    nbytes = np.bincount(unit, problem.output_bytes[problem.in_task], len(inputs))
    cost = nbytes * per_byte + MOVE
    ratio = np.divide(cost, seconds, out=np.full(len(cost), np.inf), where=seconds > 0)
    level = np.maximum(1.0, np.rint(np.log2(ratio) + 6))
    level = np.where(level < LEVELS, level, -1.0)
    return np.where(inputs > 0, level, 0.0).astype(np.int64)


def _whole(values: NDArray[np.generic] | list[int]) -> Ints:
    return frozen(np.asarray(values, dtype=np.int64))
