"""The rule transfer, for each transfer by itself; whether one is missing is seen in `inputs`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.checks.rows import Rows


def check_transfers(rows: Rows) -> None:
    """Each transfer goes once to another worker, from where and when its output is made."""
    if len(rows.sent):
        _check_route(rows)
        _check_timing(rows)


def _check_route(rows: Rows) -> None:
    schedule, place = rows.schedule, rows.place
    made = rows.worker[rows.row_of[rows.sent]]
    at = _first(rows.source != made)
    if at is not None:
        raise _breach(
            rows, at, f"has the source {place(rows.source[at])}; it is made on {place(made[at])}"
        )
    at = _first(rows.destination == rows.source)
    if at is not None:
        raise _breach(rows, at, f"goes to {place(made[at])}, where it is made; leave it out")
    nbytes = rows.instance.graph.output_bytes[rows.task_of_unit(rows.sent)]
    # `not <=` where `>` would do, so that NaN is refused too.
    at = _first(~(np.abs(schedule.transfer_nbytes - nbytes) <= 1e-9 * np.maximum(1.0, nbytes)))
    if at is not None:
        raise _breach(
            rows, at, f"has {schedule.transfer_nbytes[at]:.15g} bytes; it has {nbytes[at]:.15g}"
        )
    key = rows.sent * len(rows.instance.cluster) + rows.destination
    order = np.argsort(key, kind="stable")
    at = _first(key[order][1:] == key[order][:-1])
    if at is not None:
        again = int(order[at + 1])
        raise _breach(
            rows, again, f"goes twice to {place(rows.destination[again])}; all consumers share one"
        )


def _check_timing(rows: Rows) -> None:
    schedule, cluster = rows.schedule, rows.instance.cluster
    route = (rows.source, rows.destination)
    nbytes = rows.instance.graph.output_bytes[rows.task_of_unit(rows.sent)]
    ready = schedule.end[rows.row_of[rows.sent]]
    start, encoded, end = (
        schedule.transfer_start,
        schedule.transfer_encoded,
        schedule.transfer_end,
    )
    at = _first(start < ready - rows.eps)
    if at is not None:
        raise _breach(
            rows, at, f"starts at {start[at]:.9g} s, before the task ends at {ready[at]:.9g} s"
        )
    seconds = nbytes * cluster.encode_seconds_per_byte[route]
    at = _first(np.abs(encoded - start - seconds) > rows.eps)
    if at is not None:
        raise _breach(
            rows,
            at,
            f"is encoded from {start[at]:.9g} s to {encoded[at]:.9g} s; "
            f"that takes {seconds[at]:.9g} s",
        )
    seconds = cluster.latency[route] + nbytes * cluster.seconds_per_byte[route]
    at = _first(np.abs(end - encoded - seconds) > rows.eps)
    if at is not None:
        raise _breach(
            rows,
            at,
            f"is on its way from {encoded[at]:.9g} s to {end[at]:.9g} s; "
            f"that takes {seconds[at]:.9g} s",
        )


def _first(wrong: NDArray[np.bool_]) -> int | None:
    return int(np.argmax(wrong)) if wrong.any() else None


def _breach(rows: Rows, at: int, found: str) -> InvalidSchedule:
    row = int(rows.row_of[rows.sent[at]])
    there = rows.place(int(rows.destination[at]))
    return InvalidSchedule(
        f"the output of {rows.label(row)}, sent to {there}, {found}",
        rule="transfer",
        task=rows.name(row),
    )
