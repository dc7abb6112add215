"""The simulator's part of the compiled code, for `plan.warm`: how it is loaded, or compiled."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.mended import Mended
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.unplanned import simulate_default
from orchestrator_core.plan.warm import SIMULATION


def _simulation() -> None:
    instance = Instance.from_arrays([[1.0, 2.0], [2.0, 1.0]], [(0, 1, 1.0)])
    schedule = simulate_default(instance)
    for kind in (Rehearsal, Mended):
        kind(instance, schedule).run()


RUNS: dict[str, Callable[[], None]] = {SIMULATION: _simulation}
