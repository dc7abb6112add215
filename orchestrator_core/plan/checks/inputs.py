"""The rule inputs: nothing starts before its inputs are there; and that each needed transfer is."""

from __future__ import annotations

import numpy as np

from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.checks.rows import Rows
from orchestrator_core.plan.checks.uses import Uses


def check_inputs(rows: Rows, uses: Uses) -> None:
    """Each consumer starts after its producers end, or after what they send has arrived."""
    producer = rows.row_of[uses.unit]
    away = uses.worker != rows.worker[producer]
    present = rows.schedule.end[producer].copy()
    present[away] = _arrivals(rows, uses, np.flatnonzero(away))
    early = uses.first < present - rows.eps
    if early.any():
        at = int(np.argmax(early))
        verb = "arrives there" if away[at] else "is made there"
        raise InvalidSchedule(
            f"{rows.label(uses.consumer[at])} starts at {uses.first[at]:.9g} s on "
            f"{rows.place(uses.worker[at])}, but its input from {rows.label(producer[at])} {verb} "
            f"at {present[at]:.9g} s",
            rule="inputs",
            task=rows.name(uses.consumer[at]),
        )


def _arrivals(rows: Rows, uses: Uses, away: Ints) -> Floats:
    """Seconds at which the part that each of these uses waits for is at its worker."""
    schedule, cluster = rows.schedule, rows.instance.cluster
    w = len(cluster)
    keys = rows.sent * w + rows.destination
    order = np.argsort(keys, kind="stable")
    wanted = uses.unit[away] * w + uses.worker[away]
    # An extra, impossible key at the end keeps the look-up inside the table.
    table = np.append(keys[order], -1)
    found = np.searchsorted(keys[order], wanted)
    missing = table[found] != wanted
    if missing.any():
        at = int(away[np.argmax(missing)])
        producer = int(rows.row_of[uses.unit[at]])
        raise InvalidSchedule(
            f"{rows.label(uses.consumer[at])} on {rows.place(uses.worker[at])} needs the output of "
            f"{rows.label(producer)} from {rows.place(rows.worker[producer])}; the schedule has no "
            "transfer of it",
            rule="transfer",
            task=rows.name(producer),
        )
    transfer = order[found]
    route = (rows.source[transfer], rows.destination[transfer])
    seconds = cluster.latency[route] + uses.nbytes[away] * cluster.seconds_per_byte[route]
    return np.asarray(schedule.transfer_encoded[transfer] + seconds, dtype=np.float64)
