"""retime: the same placement and the same order under other durations (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice, DeadEnd, decode, to_schedule
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.place import exceeded_stock, missed_deadline
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.schedule import Schedule


def retime(instance: Instance, schedule: Schedule) -> Schedule:
    """The schedule with the durations and sizes of `instance`.

    Each task keeps its worker and its mode, the tasks of each worker keep the order of their
    starts, and everything starts as early as that allows; with the schedule's own instance nothing
    ends later. Tasks that were paused are run in one piece.

    Raises:
        UnsupportedInstance: if it is no schedule of the instance's tasks, if a task may not run
            where it is, or if deadlines, stock or memory do not allow it any more; the task and the
            amounts are named.
    """
    problem = expand(instance)
    if problem.n_tasks == 0 and len(schedule) == 0:
        return schedule
    row, worker, mode = placement(instance, problem, schedule)
    stuck = -1
    for choice, reserve in _ways(instance, problem, schedule, (row, worker, mode)):
        decoded = decode(problem, choice, reserve=reserve)
        if isinstance(decoded, DeadEnd):
            stuck = decoded.task
            continue
        broken = exceeded_stock(instance, decoded.mode) or missed_deadline(instance, decoded)
        if broken:
            raise UnsupportedInstance(f"the schedule cannot be kept: {broken}; plan again")
        return to_schedule(instance, decoded)
    name = _name(instance, problem, stuck)
    raise UnsupportedInstance(
        f"the schedule cannot be kept: no memory is left for task {name} when its turn comes; "
        "plan again"
    )


def _ways(
    instance: Instance,
    problem: Problem,
    schedule: Schedule,
    placement: tuple[Ints, Ints, Ints],
) -> Iterator[tuple[Choice, bool]]:
    """As early as possible, in both ways of keeping memory; then not earlier than before."""
    row, worker, mode = placement
    start = schedule.start[row]
    sends, sent = _sends(instance, problem, schedule, worker)
    order = _merge(problem, start, sends, sent)
    choice = Choice(order, worker=worker, mode=mode, in_order=True, sends=sends)
    yield choice, False
    yield choice, True
    earliest = np.concatenate([start, sent])
    yield (
        Choice(order, worker=worker, mode=mode, in_order=True, sends=sends, earliest=earliest),
        False,
    )


def placement(instance: Instance, problem: Problem, schedule: Schedule) -> tuple[Ints, Ints, Ints]:
    """(row in the schedule, worker, mode among all modes) of each single task."""
    graph = instance.graph
    unit = _units(instance, schedule, schedule.task, schedule.instance)
    times = np.bincount(unit, minlength=problem.n_tasks)
    if (times != 1).any():
        wrong = int(np.argmax(times != 1))
        raise UnsupportedInstance(
            f"the schedule runs task {_name(instance, problem, wrong)} {times[wrong]} times; "
            "each runs once: it is a schedule of another graph"
        )
    row = np.empty(problem.n_tasks, dtype=np.int64)
    row[unit] = np.arange(len(unit))
    places = _workers(instance, schedule)
    worker = places[schedule.worker[row]]
    mode = problem.mode_begin + schedule.mode[row]
    absent = (mode >= problem.mode_end) | (schedule.mode[row] < 0) | (worker < 0)
    away = absent.copy()
    away[~absent] = ~np.isfinite(instance.seconds[mode[~absent], worker[~absent]])
    if away.any():
        wrong = int(np.argmax(away))
        there = schedule.worker_names[schedule.worker[row[wrong]]]
        raise UnsupportedInstance(
            f"task {_name(instance, problem, wrong)} may not run on worker {there!r} in mode "
            f"{int(schedule.mode[row[wrong]])} of {graph.task(int(problem.task[wrong])).name!r} "
            "any more; plan again"
        )
    return row, worker, mode


def _units(instance: Instance, schedule: Schedule, task: Ints, number: Ints) -> Ints:
    """The single task of each (task, instance)."""
    graph = instance.graph
    position = np.array([graph.index.get(name, -1) for name in schedule.task_names], dtype=np.int64)
    known = position[task] if len(task) else np.zeros(0, dtype=np.int64)
    if (known < 0).any():
        missing = schedule.task_names[task[int(np.argmax(known < 0))]]
        raise UnsupportedInstance(
            f"the graph has no task {missing!r}: it is another graph's schedule"
        )
    outside = (number < 0) | (number >= graph.count[known])
    if outside.any():
        at = int(np.argmax(outside))
        raise UnsupportedInstance(
            f"task {graph.names[known[at]]!r} has no instance {int(number[at])}; it has "
            f"{int(graph.count[known[at]])}"
        )
    first = np.cumsum(graph.count) - graph.count
    return np.asarray(first[known] + number, dtype=np.int64)


def _workers(instance: Instance, schedule: Schedule) -> Ints:
    index = instance.cluster.index
    return np.array([index.get(name, -1) for name in schedule.worker_names], dtype=np.int64)


def _sends(
    instance: Instance, problem: Problem, schedule: Schedule, worker: Ints
) -> tuple[Ints, Floats]:
    """((x, 2) single task and destination, (x,) start) of each transfer that somebody needs."""
    unit = _units(instance, schedule, schedule.transfer_task, schedule.transfer_instance)
    places = _workers(instance, schedule)
    there = places[schedule.transfer_destination] if len(unit) else np.zeros(0, dtype=np.int64)
    consumer = np.repeat(np.arange(problem.n_tasks), np.diff(problem.in_ptr))
    needed = problem.in_task * problem.n_workers + worker[consumer]
    wanted = (there >= 0) & np.isin(unit * problem.n_workers + there, needed)
    pairs = np.column_stack([unit, there])[wanted]
    return np.ascontiguousarray(pairs, dtype=np.int64), schedule.transfer_start[wanted]


def _merge(problem: Problem, start: Floats, sends: Ints, sent: Floats) -> Ints:
    """Tasks by start and transfers between them, producers always before what they serve."""
    order = ready_order(problem, -start)
    turn = np.empty(problem.n_tasks)
    turn[order] = np.arange(problem.n_tasks)
    moment = np.empty(problem.n_tasks)
    moment[order] = np.maximum.accumulate(start[order])
    producer = sends[:, 0]
    times = np.concatenate([moment, np.maximum(sent, moment[producer])])
    turns = np.concatenate([turn, turn[producer] + 0.5])
    return np.lexsort((turns, times)).astype(np.int64)


def _name(instance: Instance, problem: Problem, task: int) -> str:
    name = repr(instance.graph.names[problem.task[task]])
    many = instance.graph.count[problem.task[task]] > 1
    return f"{name} (instance {int(problem.instance[task])})" if many else name
