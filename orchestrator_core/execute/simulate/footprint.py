"""Footprint: the bytes that a run holds, as Dask holds them.

Dask keeps an output where it was made, and every copy where it was sent, until the last of its
consumers anywhere has ended; what nobody consumes is a result, and stays. That is longer than
`check_schedule` counts, which lets each worker forget what is needed there no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.made import made_bytes
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.checks.profile import Claims, first_excess, highest, join
from orchestrator_core.plan.checks.rows import Rows, resolve
from orchestrator_core.plan.checks.uses import uses_of
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a run takes.

    Attributes:
        peak: the most bytes of outputs, copies included, that all workers hold at one moment.
        fits: does each worker always have room for what it holds and runs?
        share: the largest part of a worker's memory that is taken at one moment, by what it holds
            and runs; NaN where some worker has no limit.
    """

    peak: float
    fits: bool
    share: float


def footprint(instance: Instance, schedule: Schedule) -> Footprint:
    """What the schedule takes if it comes about as it stands.

    Raises:
        InvalidSchedule: if it is not a schedule of this instance.
    """
    rows = resolve(instance, schedule)
    held = _held(rows)
    peak = highest(replace(held, worker=np.zeros_like(held.worker)), rows.eps)
    memory = np.array([worker.memory for worker in instance.cluster.workers], dtype=np.float64)
    if not np.isfinite(memory).any():
        return Footprint(peak, fits=True, share=math.nan)
    taken = join(held, _running(rows))
    fits = first_excess(taken, memory, rows.eps) is None
    return Footprint(peak, fits, _share(taken, memory, rows.eps))


def _held(rows: Rows) -> Claims:
    """Each output where it was made and where it was sent, until it is needed nowhere."""
    until = _until(rows)
    made = rows.row_of
    size, own = rows.instance.graph.output_bytes[rows.task], made_bytes(rows.instance)[rows.task]
    sent = rows.row_of[rows.sent]
    return join(
        Claims(made, rows.worker[made], rows.schedule.end[made], until, own[made]),
        Claims(sent, rows.destination, rows.schedule.transfer_end, until[rows.sent], size[sent]),
    )


def _until(rows: Rows) -> Floats:
    """(u,) the last end among the consumers of each unit's output; results are held for good."""
    uses = uses_of(rows)
    until = np.full(len(rows.row_of), -np.inf)
    np.maximum.at(until, uses.unit, uses.last)
    until[until == -np.inf] = rows.schedule.makespan
    # A little past the end: what a task has made is there before its inputs go.
    return until + 2 * rows.eps


def _running(rows: Rows) -> Claims:
    """What tasks take while they run."""
    schedule = rows.schedule
    taken = rows.instance.graph.mode_memory[rows.mode]
    row = np.arange(len(schedule), dtype=np.int64)
    return Claims(row, rows.worker, schedule.start, schedule.end, taken)


def _share(taken: Claims, memory: Floats, eps: float) -> float:
    if not np.isfinite(memory).all():
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(taken.amount > 0, taken.amount / memory[taken.worker], 0.0)
    return highest(replace(taken, amount=part), eps)
