"""Pauses: a running task stops at its next checkpoint and lets others go first (repair)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.remains import Remains, with_pause
from orchestrator_core.plan.repair.rest import WAITING
from orchestrator_core.plan.repair.wishes import wishes

TURNS = 8
"""Most turns that are tried for the rest of a paused task."""


def pauses(basis: Basis, remains: Remains) -> Iterator[Remains]:
    """The rest with one of the pausable tasks paused, going on at one of several turns."""
    for unit in remains.pausable:
        checkpoint = next_checkpoint(basis, remains, unit)
        if checkpoint is None or not _is_fed(basis, remains, unit):
            continue
        paused = with_pause(remains, unit, checkpoint)
        for turn in _turns(remains, unit):
            wish = paused.wish.copy()
            wish[unit] = turn
            wishes(basis.problem, remains.rest.now, paused.rest.status, basis.best_seconds, wish)
            yield replace(paused, wish=wish)


def next_checkpoint(basis: Basis, remains: Remains, unit: int) -> float | None:
    """The moment at which a running task can stop next, in seconds; None if it cannot any more."""
    r, graph = remains.rest, basis.instance.graph
    pieces = remains.done.get(unit) or ((float(r.start[unit]), float(r.end[unit])),)
    before = sum(end - start for start, end in pieces[:-1])
    since, end = pieces[-1][0], float(r.end[unit])
    total = before + end - since
    for point in graph.checkpoints(int(basis.problem.task[unit])):
        moment = since + point * total - before
        if moment >= r.now and since < moment < end:
            return moment
    return None


def _is_fed(basis: Basis, remains: Remains, unit: int) -> bool:
    """Has the worker all inputs of the running task? It could not go on without those that are
    gone, or are being made again."""
    p, r = basis.problem, remains.rest
    inputs = p.in_task[p.in_ptr[unit] : p.in_ptr[unit + 1]]
    return bool((r.present[inputs, r.worker[unit]] <= r.now).all())


def _turns(remains: Remains, unit: int) -> list[float]:
    """Just after some of the waiting tasks, evenly spread, on its worker or new."""
    r = remains.rest
    near = (remains.prefer == r.worker[unit]) | (remains.prefer < 0)
    wish = np.unique(remains.wish[(r.status == WAITING) & near])
    if not len(wish):
        return []
    chosen = np.unique(np.linspace(0, len(wish) - 1, min(TURNS, len(wish))).astype(int))
    return [float(np.nextafter(wish[i], np.inf)) for i in chosen.tolist()]
