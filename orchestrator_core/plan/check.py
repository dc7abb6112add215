"""check_schedule: is this schedule valid for this instance? The verifier that trusts no planner.

It derives every rule anew from the graph, the costs and the cluster, and imports no planner code.
The rules, by the name that `InvalidSchedule.rule` carries:

    names       the tasks and workers are those of the instance
    once        each instance of each task runs exactly once
    mode        the task has that mode
    eligible    the mode may run on that worker, which has what it needs when it is idle, however
                short it is
    time        times are finite and not negative
    duration    end = start + duration
    segments    a task pauses only at its checkpoints, and its pieces make up its duration
    release     nothing starts before its release
    deadline    nothing ends after its deadline
    transfer    an output that is needed on another worker is sent there once, from where it was
                made, after it was made, and takes the time that it takes
    inputs      nothing starts before its inputs are there
    threads     running tasks and encodings fit on a worker's threads
    resources   running tasks fit on a worker's resources
    memory      running tasks and held outputs fit in a worker's memory
    stock       what tasks consume for good is in the cluster's stock

Times are compared with a tolerance of ``1e-9 * max(1, makespan)`` seconds. Intervals are half-open:
what ends makes room for what starts at the same time, and what has no length occupies nothing. A
transfer that nobody needs breaks no rule: its output is dropped on arrival.
"""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.checks.capacity import (
    check_memory,
    check_resources,
    check_stock,
    check_threads,
)
from orchestrator_core.plan.checks.inputs import check_inputs
from orchestrator_core.plan.checks.rows import resolve
from orchestrator_core.plan.checks.times import (
    check_dates,
    check_durations,
    check_finite,
    pieces_of,
)
from orchestrator_core.plan.checks.transfers import check_transfers
from orchestrator_core.plan.checks.uses import uses_of
from orchestrator_core.plan.given import check_instance, check_is_schedule
from orchestrator_core.plan.schedule import Schedule


def check_schedule(instance: Instance, schedule: Schedule) -> None:
    """Return if the schedule keeps every rule of the instance, and raise if it breaks one.

    Linear in tasks, edges and transfers but for sorting.

    Raises:
        InvalidSchedule: with the first rule that is broken, the task that breaks it, what was
            found and what was possible. InvalidInput: for what is no schedule at all.
    """
    check_instance(instance)
    check_is_schedule(schedule, "the schedule")
    check_finite(schedule)
    rows = resolve(instance, schedule)
    check_durations(rows)
    pieces = pieces_of(rows)
    check_dates(rows)
    check_transfers(rows)
    uses = uses_of(rows)
    check_inputs(rows, uses)
    check_threads(rows, pieces)
    check_resources(rows, pieces)
    check_memory(rows, pieces, uses)
    check_stock(rows)
