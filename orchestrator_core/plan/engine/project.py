"""Project: a problem without encoding and scarce outputs as a multi-mode project (stage 3).

Where no output has to wait for memory and nothing is encoded, a task on a worker in a mode is
what the literature calls a mode of a resource-constrained project: a duration, and amounts of a few
renewable resources, here those of one worker. Job shops, flexible job shops, RCPSP and MMRCPSP are
projects; so are clusters whose tasks take several threads or GPUs. *Alternative* is the name for
such a pair of mode and worker, since a mode is something else in this code.

Alternatives that no good schedule needs are left out: F. Sprecher, S. Hartmann, A. Drexl: An exact
algorithm for project scheduling with multiple modes. OR Spektrum 19, 1997.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import ROUNDING, capacity, encodes
from orchestrator_core.plan.engine.expand import Problem, frozen


class Project(NamedTuple):
    """n tasks, a alternatives, w workers, c resources of a worker, s kinds of stock; all frozen.

    Attributes:
        release, deadline: (n,) seconds.
        in_ptr, in_task, in_bytes, out_ptr, out_task, out_bytes: as in the problem.
        first: (n + 1,) the alternatives of task t are ``first[t]`` to ``first[t + 1]``.
        mode, worker, seconds: (a,).
        need_ptr: (a + 1,). need_column, need_amount: what an alternative takes of its worker.
        limit: (w, c) what each worker has.
        consumed: (a, s) of the stock. stock: (s,). least: (n, s) of any of a task's alternatives.
        latency, per_byte: (w, w) seconds, and seconds per byte, source first.
    """

    release: Floats
    deadline: Floats
    in_ptr: Ints
    in_task: Ints
    in_bytes: Floats
    out_ptr: Ints
    out_task: Ints
    out_bytes: Floats
    first: Ints
    mode: Ints
    worker: Ints
    seconds: Floats
    need_ptr: Ints
    need_column: Ints
    need_amount: Floats
    limit: Floats
    consumed: Floats
    stock: Floats
    least: Floats
    latency: Floats
    per_byte: Floats


class _Table(NamedTuple):
    """Alternatives as rows, before they are compressed."""

    task: Ints
    mode: Ints
    worker: Ints
    seconds: Floats
    need: Floats
    consumed: Floats

    def keep(self, rows: NDArray[Any]) -> _Table:
        """Some rows, by a mask or by position."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in self._fields}
        return _Table(**columns)


def is_project(problem: Problem) -> bool:
    """Is nothing encoded, and is no output ever in the way?"""
    if encodes(problem):
        return False
    return not np.isfinite(capacity(problem)[:, 1]).any() or not problem.output_bytes.any()


def project_of(instance: Instance, problem: Problem) -> Project:
    """The problem as a project; `is_project` holds."""
    limit = capacity(problem)
    table, stock = _alternatives(instance, problem)
    table = _without_dominated(_without_impossible(table, stock, problem.n_tasks))
    scarce = _scarce(table, limit, problem.n_tasks)
    finite = np.where(scarce, limit, 0.0)
    row, column = np.nonzero((table.need > 0) & scarce[table.worker])
    counts = np.bincount(row, minlength=len(table.task))
    columns = {
        "first": _pointers(np.bincount(table.task, minlength=problem.n_tasks)),
        "mode": table.mode,
        "worker": table.worker,
        "seconds": table.seconds,
        "need_ptr": _pointers(counts),
        "need_column": column.astype(np.int64),
        "need_amount": table.need[row, column],
        "limit": finite,
        "consumed": table.consumed,
        "stock": stock,
        "least": _least(table, problem.n_tasks),
    }
    same = (name for name in Project._fields if name not in columns)
    return Project(
        **{name: getattr(problem, name) for name in same},
        **{name: frozen(column) for name, column in columns.items()},
    )


def _alternatives(instance: Instance, problem: Problem) -> tuple[_Table, Floats]:
    graph = instance.graph
    span = problem.mode_end - problem.mode_begin
    task = np.repeat(np.arange(problem.n_tasks), span)
    mode = np.arange(len(task)) - np.repeat(np.cumsum(span) - span, span)
    mode += problem.mode_begin[task]
    row, worker = np.nonzero(np.isfinite(problem.seconds[mode]))
    task, mode = task[row], mode[row]
    amounts = np.column_stack([problem.threads, problem.memory, problem.demand])
    names = sorted({name for demand in graph.demands for name in demand.consumes})
    each = np.array([[d.consumes.get(name, 0.0) for name in names] for d in graph.demands])
    consumed = each.reshape(len(graph.demands), len(names))[graph.demand_of]
    have = np.array([instance.cluster.stock.get(name, 0.0) for name in names])
    table = _Table(task, mode, worker, problem.seconds[mode, worker], amounts[mode], consumed[mode])
    most = np.zeros((problem.n_tasks, len(names)))
    np.maximum.at(most, task, table.consumed)
    scarce = most.sum(axis=0) > have
    return table._replace(consumed=table.consumed[:, scarce]), have[scarce] * (1 + ROUNDING)


def _least(table: _Table, n: int) -> Floats:
    least = np.full((n, table.consumed.shape[1]), np.inf)
    np.minimum.at(least, table.task, table.consumed)
    return least


def _without_impossible(table: _Table, stock: Floats, n: int) -> _Table:
    """Without alternatives that exceed the stock though all other tasks consume the least."""
    while len(stock):
        least = _least(table, n)
        spare = stock - least.sum(axis=0)
        fine = (table.consumed - least[table.task] <= spare).all(axis=1)
        # A task that loses its last alternative keeps them all: the search will say what is wrong.
        lost = np.bincount(table.task[fine], minlength=n) == 0
        fine |= lost[table.task]
        if fine.all():
            break
        table = table.keep(fine)
    return table


def _without_dominated(table: _Table) -> _Table:
    """Without alternatives that take no less of anything, and no less time, than another one of
    the same task on the same worker."""
    group = np.lexsort((table.mode, table.worker, table.task))
    table = table.keep(group)
    values = np.column_stack([table.seconds, table.need, table.consumed])
    fine = np.ones(len(values), dtype=bool)
    for shift in range(1, _most_modes(table)):
        same = (table.task[shift:] == table.task[:-shift]) & (
            table.worker[shift:] == table.worker[:-shift]
        )
        a, b = values[:-shift], values[shift:]
        first = same & (a <= b).all(axis=1)
        fine[shift:] &= ~first
        fine[:-shift] &= ~(same & (b <= a).all(axis=1) & ~first)
    return table.keep(fine)


def _most_modes(table: _Table) -> int:
    key = table.task * (int(table.worker.max(initial=0)) + 1) + table.worker
    return int(np.unique(key, return_counts=True)[1].max(initial=1))


def _scarce(table: _Table, limit: Floats, n: int) -> NDArray[np.bool_]:
    """(w, c) resources that all tasks together could exceed."""
    w, c = limit.shape
    most = np.zeros((n, w, c))
    np.maximum.at(most, (table.task, table.worker), table.need)
    return np.asarray(most.sum(axis=0) > limit)


def _pointers(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
