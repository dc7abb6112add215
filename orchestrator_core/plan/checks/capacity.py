"""The rules threads, resources, memory and stock: what runs and is held fits on its worker."""

from __future__ import annotations

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.checks.profile import Claims, Excess, first_excess, join
from orchestrator_core.plan.checks.rows import Rows
from orchestrator_core.plan.checks.times import Pieces
from orchestrator_core.plan.checks.uses import Uses


def check_threads(rows: Rows, pieces: Pieces) -> None:
    """Rule threads: running tasks, and one thread for each running encoding."""
    supply = np.array([worker.threads for worker in rows.instance.cluster.workers], dtype=float)
    encodings = Claims(
        row=rows.row_of[rows.sent],
        worker=rows.source,
        start=rows.schedule.transfer_start,
        end=rows.schedule.transfer_encoded,
        amount=np.ones(len(rows.sent)),
    )
    running = _running(rows, pieces, rows.instance.graph.mode_threads.astype(np.float64))
    excess = first_excess(join(running, encodings), supply, rows.eps)
    if excess is not None:
        raise _breach(rows, excess, "threads", "running tasks and encodings take")


def check_resources(rows: Rows, pieces: Pieces) -> None:
    """Rule resources: what running tasks occupy of each resource."""
    graph, workers = rows.instance.graph, rows.instance.cluster.workers
    names = sorted({name for demand in graph.demands for name in demand.resources})
    for name in names:
        supply = np.array([worker.resources.get(name, 0.0) for worker in workers])
        each = np.array([demand.resources.get(name, 0.0) for demand in graph.demands])
        excess = first_excess(_running(rows, pieces, each[graph.demand_of]), supply, rows.eps)
        if excess is not None:
            raise _breach(rows, excess, "resources", "running tasks take", name)


def check_memory(rows: Rows, pieces: Pieces, uses: Uses) -> None:
    """Rule memory: running tasks, and outputs where they are made and where they are sent."""
    supply = np.array([worker.memory for worker in rows.instance.cluster.workers])
    if not np.isfinite(supply).any():
        return
    excess = first_excess(memory_claims(rows, pieces, uses), supply, rows.eps)
    if excess is not None:
        raise _breach(
            rows, excess, "memory", "running tasks and held outputs take", "bytes of memory"
        )


def memory_claims(rows: Rows, pieces: Pieces, uses: Uses) -> Claims:
    """All that takes memory: running tasks, and outputs where they are made and sent."""
    return join(
        _running(rows, pieces, rows.instance.graph.mode_memory),
        _held_at_source(rows, uses),
        _held_at_destination(rows, uses),
    )


def check_stock(rows: Rows) -> None:
    """Rule stock: what all tasks consume together."""
    graph, stock = rows.instance.graph, rows.instance.cluster.stock
    times = np.bincount(graph.demand_of[rows.mode], minlength=len(graph.demands))
    for name in sorted({name for demand in graph.demands for name in demand.consumes}):
        each = np.array([demand.consumes.get(name, 0.0) for demand in graph.demands])
        total, have = float(each @ times), stock.get(name, 0.0)
        if total > have + 1e-9 * max(1.0, have):
            modes = [m for m, d in enumerate(graph.demands) if d.consumes.get(name, 0.0) > 0]
            row = int(np.flatnonzero(np.isin(graph.demand_of[rows.mode], modes))[-1])
            raise InvalidSchedule(
                f"the tasks consume {total:.9g} {name} together; the cluster's stock is {have:.9g}",
                rule="stock",
                task=rows.name(row),
            )


def _running(rows: Rows, pieces: Pieces, per_mode: Floats) -> Claims:
    row = pieces.row
    return Claims(row, rows.worker[row], pieces.start, pieces.end, per_mode[rows.mode[row]])


def _held_at_source(rows: Rows, uses: Uses) -> Claims:
    """Each output from its end to the last of its consumers' ends there and its encodings."""
    made = rows.worker[rows.row_of]
    end = rows.schedule.end[rows.row_of]
    until = end.copy()
    local = uses.worker == made[uses.unit]
    np.maximum.at(until, uses.unit[local], uses.last[local])
    np.maximum.at(until, rows.sent, rows.schedule.transfer_encoded)
    return Claims(rows.row_of, made, end, until, _output_bytes(rows, rows.row_of))


def _held_at_destination(rows: Rows, uses: Uses) -> Claims:
    """Each sent output from its arrival, or from an earlier start of a consumer there, to the last
    of its consumers' ends there."""
    w = len(rows.instance.cluster)
    key = rows.sent * w + rows.destination
    order = np.argsort(key, kind="stable")
    begin, until = rows.schedule.transfer_end[order].copy(), np.zeros(len(order))
    away = np.flatnonzero(uses.worker != rows.worker[rows.row_of[uses.unit]])
    asked = uses.unit[away] * w + uses.worker[away]
    place = np.searchsorted(key[order], asked)
    if len(np.setdiff1d(asked, key)):
        raise InvalidSchedule("an output is used where it is not, and never sent", rule="transfer")
    np.minimum.at(begin, place, uses.first[away])
    np.maximum.at(until, place, uses.last[away])
    row = rows.row_of[rows.sent[order]]
    return Claims(row, rows.destination[order], begin, until, _output_bytes(rows, row))


def _output_bytes(rows: Rows, row: Ints) -> Floats:
    return np.asarray(rows.instance.graph.output_bytes[rows.task[row]], dtype=np.float64)


def _breach(
    rows: Rows, excess: Excess, rule: str, who: str, unit: str | None = None
) -> InvalidSchedule:
    taken, supply = f"{excess.taken:.15g}", f"{excess.supply:.15g}"
    return InvalidSchedule(
        f"at {excess.moment:.9g} s, when {rows.label(excess.row)} comes in, {who} {taken} "
        f"{unit or rule} of worker {rows.place(excess.worker)}; it has {supply}",
        rule=rule,
        task=rows.name(excess.row),
    )
