"""Past and future in one schedule (stage 3, repair)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.planned import Planned
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import BLOCKED, WAITING, Placement, Sends
from orchestrator_core.plan.repair.told import Told
from orchestrator_core.plan.schedule import Schedule


def join(
    basis: Basis,
    planned: Planned,
    remains: Remains,
    placed: Placement,
    sends: Sends,
    told: Told,
) -> Schedule:
    """What has begun as it was, what waits as it is planned now; a row for each single task that is
    not blocked."""
    p, r = basis.problem, remains.rest
    waiting = r.status == WAITING
    mode = np.where(waiting, placed.mode, r.mode)
    start = np.where(waiting & (r.left < 0), placed.start, r.start)
    end = np.where(waiting, placed.end, r.end)
    worker = np.where(waiting, placed.worker, r.worker)
    segments = _segments(remains, placed)
    rows: Ints | slice = slice(None)
    if (r.status == BLOCKED).any():
        rows = np.flatnonzero(r.status != BLOCKED)
        segments = {int(np.searchsorted(rows, unit)): s for unit, s in segments.items()}
    moves = _all(remains.sends, sends, _held(basis, remains, told))
    return Schedule.from_columns(
        basis.instance.graph.names,
        planned.worker_names,
        segments=segments,
        task=p.task[rows],
        instance=p.instance[rows],
        worker=worker[rows],
        mode=(mode - p.mode_begin)[rows],
        start=start[rows],
        end=end[rows],
        transfer_task=p.task[moves.unit],
        transfer_instance=p.instance[moves.unit],
        transfer_source=moves.source,
        transfer_destination=moves.destination,
        transfer_start=moves.sent,
        transfer_encoded=moves.encoded,
        transfer_end=moves.arrived,
        transfer_nbytes=p.output_bytes[moves.unit],
    )


def _segments(remains: Remains, placed: Placement) -> dict[int, tuple[tuple[float, float], ...]]:
    """The pieces of what was or will be paused."""
    r, found = remains.rest, {}
    for unit, pieces in remains.done.items():
        if r.status[unit] == WAITING:
            begin, end = float(placed.start[unit]), float(placed.end[unit])
            if begin <= pieces[-1][1]:
                pieces, begin = pieces[:-1], pieces[-1][0]
            pieces = (*pieces, (begin, end))
        if len(pieces) > 1:
            found[unit] = pieces
    return found


def _held(basis: Basis, remains: Remains, told: Told) -> Sends:
    """Copies of which only an event says that they are there, as transfers from where the output
    was made, and not before: or the next repair would take them to be still on their way."""
    p, r = basis.problem, remains.rest
    if not told.copies:
        return remains.sends.none()
    rows: list[tuple[int, int, int, float]] = []
    known = set(zip(remains.sends.unit.tolist(), remains.sends.destination.tolist(), strict=True))
    for unit, b, since in told.copies:
        made = int(r.worker[unit])
        if b < p.n_workers and r.present[unit, b] < np.inf and b != made and (unit, b) not in known:
            rows.append((unit, made, b, since))
            known.add((unit, b))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    units, source, there = (table[:, i].astype(np.int64) for i in range(3))
    ends = r.end[units]
    since_then = np.maximum(ends, table[:, 3])
    encode, way = _durations(p, units, source, there)
    encoded = np.maximum(ends, since_then - way)
    return Sends(units, source, there, np.maximum(ends, encoded - encode), encoded, since_then)


def _durations(p: Problem, units: Ints, source: Ints, there: Ints) -> tuple[Floats, Floats]:
    """Seconds of encoding and of the way; 0 from a worker that is no longer in the cluster."""
    nbytes, here = p.output_bytes[units], source < p.n_workers
    route = (np.where(here, source, there), there)
    return nbytes * p.encode[route], p.latency[route] + nbytes * p.per_byte[route]


def _all(*parts: Sends) -> Sends:
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in Sends._fields)
    return Sends(*columns)
