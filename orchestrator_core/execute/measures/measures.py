"""Measures: what is done for a plan beside placing its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.ahead import pays_to_send_ahead
from orchestrator_core.execute.measures.holding import choose_holds
from orchestrator_core.execute.simulate.draws import draws
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.plan.schedule import Schedule

DRAWS = 6
SIMULATED_TASKS = 10_000
"""Simulated runs that decide whether outputs are sent ahead, and tasks in all of them together."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What is done for a plan beside placing its tasks.

    Attributes:
        holds: by task name: what is kept back although it is ready.
        prefetch: are outputs sent ahead to where tasks are planned that wait for other inputs?
    """

    holds: Mapping[str, Hold] = field(default_factory=dict)
    prefetch: bool = False


NONE = Measures()


def choose_measures(instance: Instance, pessimistic: Instance, schedule: Schedule) -> Measures:
    """The measures with which the schedule is expected to end sooner; mostly none.

    The same arguments have the same answer.

    Args:
        instance: with expected durations. pessimistic: with the 0.9 quantiles.
        schedule: valid for the instance.
    """
    rehearsal = Rehearsal(instance, schedule)
    runs = max(1, min(DRAWS, SIMULATED_TASKS // max(1, instance.graph.n_instances)))
    prefetch = pays_to_send_ahead(rehearsal, draws(instance, pessimistic, runs))
    return Measures(choose_holds(instance, pessimistic, schedule, prefetch=prefetch), prefetch)
