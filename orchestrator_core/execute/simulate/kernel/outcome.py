"""What came about in a simulation, as arrays."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator_core.execute.simulate.kernel.state import FULL, TRANSFERS, State
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inlined


class Came(NamedTuple):
    """u units, x transfers, in the columns of `state.py`.

    Attributes:
        unit: (u, 3). when: (u, 2) seconds. sent: (x, 4). sent_at: (x, 3) seconds.
        full: there was no room for all transfers, so that the run ended before its time.
    """

    unit: Ints
    when: Floats
    sent: Ints
    sent_at: Floats
    full: bool


@inlined
def came(s: State) -> Came:
    x = s.number[TRANSFERS]
    return Came(s.unit, s.when, s.sent[:x], s.sent_at[:x], s.number[FULL] > 0)
