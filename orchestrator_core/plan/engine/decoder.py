"""The decoder: from an order of tasks to a schedule (stage 3, the engine of all list planners).

Serial schedule generation: the tasks are placed one after the other, each where it ends first,
also in a gap between tasks that were placed before it. Two compiled kernels do it: `lanes.py`
where only threads are scarce, `general.py` for everything else. A million tasks a second, so that
many orders can be tried. Tasks with checkpoints are run in one piece; deadlines are not enforced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.general import place_on_profiles
from orchestrator_core.plan.engine.lanes import place_on_lanes, transfers_between
from orchestrator_core.plan.engine.placing import empty_draft, empty_placed, empty_sent
from orchestrator_core.plan.engine.profiles import idle_profiles
from orchestrator_core.plan.schedule import Schedule

INSERTION_TASKS, INSERTION_ON_PROFILES = 100_000, 30_000
"""Up to this many tasks a task may be inserted into a gap; beyond, each worker only appends. The
second is for where more than threads is scarce: there gaps are sought in a time that grows with the
square of the tasks, half a second for so many."""

ROUNDING = 1e-13
"""Relative slack of memory and resources, for sums of fractions."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An order of tasks, and what is decided beside it.

    Attributes:
        order: (n,) single tasks of the problem, producers before consumers.
        worker, mode: (n,) where a task must run, -1 where the decoder chooses; None for all -1.
            Modes are positions among all modes of the graph.
        ahead: (n, w) seconds that are added to a task's end on a worker when workers are compared.
        in_order: no task starts before one that comes earlier in the order on its worker.
        earliest: (n,) seconds before which no task starts, beside its release.
        sends: (x, 2) transfers (task, destination) that are placed in the order, as items n + x.
    """

    order: Ints
    worker: Ints | None = None
    mode: Ints | None = None
    ahead: Floats | None = None
    in_order: bool = False
    earliest: Floats | None = None
    sends: Ints | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """Where everything is: (n,) tasks and (x,) transfers."""

    start: Floats
    end: Floats
    worker: Ints
    mode: Ints
    sent_task: Ints
    destination: Ints
    sent: Floats
    encoded: Floats
    arrived: Floats


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """The single task for which no worker has room left, ever."""

    task: int


def decode(
    problem: Problem,
    choice: Choice,
    *,
    insertion: bool | None = None,
    reserve: bool = True,
    general: bool = False,
) -> Decoded | DeadEnd:
    """Place all tasks of the order; a dead end only where memory is scarce.

    Ties go to the worker with the lowest position. The same choice gives the same placement, to the
    last bit.

    Args:
        insertion: None for up to `INSERTION_TASKS` tasks, or `INSERTION_ON_PROFILES`.
        reserve: keep room for an output until all its consumers are placed (see `general.py`).
        general: use the general kernel even where the fast one would do.
    """
    n = problem.n_tasks
    free = np.full(n, -1, dtype=np.int64)
    worker = free if choice.worker is None else choice.worker
    mode = free if choice.mode is None else choice.mode
    ahead = np.zeros((0, 0)) if choice.ahead is None else choice.ahead
    lanes = not general and choice.earliest is None and only_threads(problem)
    if insertion is None:
        insertion = n <= (INSERTION_TASKS if lanes else INSERTION_ON_PROFILES)
    fixed = (worker, mode, ahead)
    if lanes:
        return _decode_on_lanes(problem, choice, fixed, insertion)
    return _decode_on_profiles(problem, choice, fixed, choice.in_order or not insertion, reserve)


def _decode_on_lanes(
    problem: Problem, choice: Choice, fixed: tuple[Ints, Ints, Floats], insertion: bool
) -> Decoded:
    n = problem.n_tasks
    start, end = np.zeros(n), np.zeros(n)
    worker, mode = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    order = choice.order[choice.order < n]
    gaps = insertion and not choice.in_order
    place_on_lanes(problem, order, *fixed, gaps, choice.in_order, start, end, worker, mode)
    return with_plain_transfers(problem, start, end, worker, mode)


def _decode_on_profiles(
    problem: Problem,
    choice: Choice,
    fixed: tuple[Ints, Ints, Floats],
    in_order: bool,
    reserve: bool,
) -> Decoded | DeadEnd:
    n, w = problem.n_tasks, problem.n_workers
    sends = np.zeros((0, 2), dtype=np.int64) if choice.sends is None else choice.sends
    earliest = np.concatenate([problem.release, np.zeros(len(sends))])
    if choice.earliest is not None:
        np.maximum(earliest, choice.earliest, out=earliest)
    limit = capacity(problem)
    draft = empty_draft(int(np.diff(problem.in_ptr).max(initial=1)), limit.shape[1])
    steps = 8 * n + 64 * w
    while True:
        placed = empty_placed(n, np.diff(problem.out_ptr))
        sent = empty_sent(n, min(len(problem.in_task) + len(sends), n * (w - 1)))
        profiles = idle_profiles(limit, steps)
        done = place_on_profiles(
            problem,
            choice.order,
            sends,
            earliest,
            *fixed,
            in_order,
            reserve,
            profiles,
            placed,
            sent,
            draft,
        )
        if not profiles.pool[1]:
            break
        steps *= 2
    if done < len(choice.order):
        item = int(choice.order[done])
        return DeadEnd(item if item < n else int(sends[item - n, 0]))
    used = slice(int(sent.used[0]))
    return Decoded(
        placed.start,
        placed.end,
        placed.worker,
        placed.mode,
        sent.task[used],
        sent.destination[used],
        sent.start[used],
        sent.encoded[used],
        sent.end[used],
    )


def only_threads(problem: Problem) -> bool:
    """Can nothing but threads ever be scarce, and does every task take one of them?"""
    if bool((problem.threads > 1).any()) or encodes(problem):
        return False
    limit = np.column_stack([problem.worker_memory, problem.supply]) * (1 + ROUNDING)
    return bool(np.isinf(limit).all() or (_most_taken(problem) <= limit).all())


def encodes(problem: Problem) -> bool:
    if not bool((problem.encode > 0).any()):
        return False
    sent = problem.output_bytes[np.diff(problem.out_ptr) > 0]
    return bool((sent > 0).any())


def _most_taken(problem: Problem) -> Floats:
    """(w, 1 + r) memory and resources in the worst case: all threads on the greediest tasks, and
    all outputs held at once."""
    threads = problem.worker_threads[:, None]
    each = np.column_stack([problem.memory, problem.demand]) / problem.threads[:, None]
    most = threads * each.max(axis=0, initial=0.0)
    most[:, 0] += problem.output_bytes[np.diff(problem.out_ptr) > 0].sum()
    return np.asarray(most, dtype=np.float64)


def capacity(problem: Problem) -> Floats:
    """(w, 2 + r) threads, memory and resources; memory is infinite where it cannot be scarce."""
    memory = np.where(_most_memory(problem) <= problem.worker_memory, np.inf, problem.worker_memory)
    return np.column_stack(
        [problem.worker_threads, memory * (1 + ROUNDING), problem.supply * (1 + ROUNDING)]
    ).astype(np.float64)


def _most_memory(problem: Problem) -> Floats:
    return _most_taken(problem)[:, 0]


def with_plain_transfers(
    problem: Problem, start: Floats, end: Floats, worker: Ints, mode: Ints
) -> Decoded:
    """The transfers where nothing is encoded: each starts when its output is made."""
    task, destination = transfers_between(problem, worker)
    source, sent = worker[task], end[task]
    way = problem.output_bytes[task] * problem.per_byte[source, destination]
    arrived = sent + problem.latency[source, destination] + way
    return Decoded(start, end, worker, mode, task, destination, sent, sent, arrived)


def to_schedule(instance: Instance, decoded: Decoded) -> Schedule:
    """The schedule, with the tasks in the graph's order."""
    problem = expand(instance)
    task = decoded.sent_task
    return Schedule.from_columns(
        instance.graph.names,
        instance.cluster.names,
        task=problem.task,
        instance=problem.instance,
        worker=decoded.worker,
        mode=decoded.mode - problem.mode_begin,
        start=decoded.start,
        end=decoded.end,
        transfer_task=problem.task[task],
        transfer_instance=problem.instance[task],
        transfer_source=decoded.worker[task],
        transfer_destination=decoded.destination,
        transfer_start=decoded.sent,
        transfer_encoded=decoded.encoded,
        transfer_end=decoded.arrived,
        transfer_nbytes=problem.output_bytes[task],
    )
