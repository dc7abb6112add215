"""From a solution of a window's model to a schedule of the whole instance, in seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.cpsat.windows.frame import delays_to
from orchestrator_core.plan.cpsat.windows.kernels import longest
from orchestrator_core.plan.cpsat.windows.model import Window
from orchestrator_core.plan.engine.decoder import Choice, DeadEnd, decode, to_schedule
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.place import exceeded_stock, missed_deadline, place
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.schedule import Schedule

Value = Callable[[Any], int]
"""The value of a variable in the solution."""


def solved_schedule(window: Window, value: Value) -> Schedule | None:
    """The schedule with the solution's placement and order, or None if seconds cannot keep it.

    All starts by the solution, in order, are decoded anew: what is placed in the order of a valid
    schedule's starts starts no later than there, so rounding to ticks costs nothing.
    """
    line = window.frame.line
    worker, mode = line.worker.copy(), line.mode.copy()
    for t in window.frame.free:
        for option, x in zip(window.options(t), window.taken[t], strict=True):
            if value(x):
                worker[t], mode[t] = option.worker, option.mode
    start = _starts(window, value, worker, mode)
    order = ready_order(line.problem, -start[: line.n_tasks])
    if line.problem.encode.any():
        choice = _with_sends(window, value, order, start, worker, mode)
        return _decoded(line.instance, line.problem, choice)
    found = place(line.instance, Choice(order, worker=worker, mode=mode))
    return found if isinstance(found, Schedule) else None


def _decoded(instance: Instance, problem: Problem, choice: Choice) -> Schedule | None:
    """As `place`, which takes no order of encodings."""
    for reserve in (True, False):
        found = decode(problem, choice, reserve=reserve)
        if isinstance(found, DeadEnd):
            continue
        broken = exceeded_stock(instance, found.mode) or missed_deadline(instance, found)
        return None if broken else to_schedule(instance, found)
    return None


def _with_sends(
    window: Window, value: Value, order: Ints, start: Floats, worker: Ints, mode: Ints
) -> Choice:
    """The order with all encodings in it: those that were solved or stayed as they are, and the
    others at the ends of their tasks."""
    line = window.frame.line
    p, n, w = line.problem, line.n_tasks, line.problem.n_workers
    consumer = np.repeat(np.arange(n), np.diff(p.in_ptr))
    away = worker[p.in_task] != worker[consumer]
    sends = np.stack(divmod(np.unique(p.in_task[away] * w + worker[consumer[away]]), w), axis=1)
    end = start[:n] + p.seconds[mode, worker]
    known = dict(zip(zip(*line.sends.tolist(), strict=True), start[n:].tolist(), strict=True))
    known |= {key: value(x) * window.unit for key, x in window.sends.items()}
    moments = [known.get((t, b), 0.0) for t, b in sends.tolist()]
    turn, moment = np.empty(n), np.empty(n)
    turn[order] = np.arange(n)
    moment[order] = np.maximum.accumulate(start[:n][order])
    after = np.maximum(np.array(moments, dtype=np.float64), end[sends[:, 0]])
    times = np.concatenate([moment, np.maximum(after, moment[sends[:, 0]])])
    turns = np.concatenate([turn, turn[sends[:, 0]] + 0.5])
    merged = np.lexsort((turns, times)).astype(np.int64)
    return Choice(merged, worker=worker, mode=mode, sends=np.ascontiguousarray(sends))


def _starts(window: Window, value: Value, worker: Ints, mode: Ints) -> Floats:
    """(k,) seconds: frozen items as they were, free ones and the band as solved, then the rest."""
    frame, line = window.frame, window.frame.line
    start = frame.head.copy()
    for item, variable in window.start.items():
        start[item] = value(variable) * window.unit
    place, p = np.full(line.problem.n_workers, 0.0), line.problem
    for t in frame.free:
        end = start[t] + p.seconds[mode[t], worker[t]]
        place[worker[t]] = max(place[worker[t]], end)
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            if frame.beyond[c]:
                way = delays_to(line, t, float(p.out_bytes[k]), worker[c])[worker[t]]
                start[c] = max(start[c], end + way)
    kinds = len(line.supply) // p.n_workers
    later = frame.beyond[line.uses[1]]
    item = line.uses[1, later]
    np.maximum.at(start, item, place[line.uses[0, later] // kinds])
    tails = frame.graph.arcs[:, frame.beyond[frame.graph.arcs[1]]]
    longest(np.ascontiguousarray(tails), frame.graph.lag[frame.beyond[frame.graph.arcs[1]]], start)
    return start
