"""The settings that there are."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator_core.settings import reading
from orchestrator_core.settings.setting import CLUSTER, MACHINE, WORKER, Setting

_ALL = (
    Setting(
        "store",
        "database of schedules and runs: a URL or a path",
        reading.database,
        variable="ORCHESTRATOR_DB",
        is_secret=True,
        is_path=True,
    ),
    Setting(
        "mode",
        "auto, director or restrict follow plans; observe records only; off is plain Dask",
        reading.mode,
        "auto",
        is_switch=True,
    ),
    Setting(
        "objective",
        "what plans minimise: makespan, tardiness, price, busy-price, memory, or several",
        reading.objective,
        "makespan",
    ),
    Setting("deadline", "seconds from a flow's first submission to its end", reading.seconds),
    Setting(
        "max_price",
        "what a run may cost, by the workers' prices",
        reading.positive,
        in_code="a number > 0, such as 2.5",
    ),
    Setting("budget", "seconds of one planning; by default 2 % of the run", reading.seconds),
    Setting(
        "min_gain",
        "part of the makespan that a plan must save",
        reading.fraction,
        0.05,
        in_code="a part >= 0 and < 1, such as 0.05",
    ),
    Setting(
        "report",
        "add plan and outcome to the flow run?",
        reading.yes_or_no,
        True,
        in_code="True or False",
    ),
    Setting(
        "wait_for_workers",
        "wait for a worker that has what a task needs, instead of refusing the task?",
        reading.yes_or_no,
        False,
        in_code="True or False",
    ),
    Setting(
        "argument_sizes",
        "note how large numbers and collections among arguments are, to foretell by?",
        reading.yes_or_no,
        True,
        in_code="True or False",
    ),
    Setting(
        "min_tasks",
        "smaller graphs are left to Dask",
        reading.count,
        8,
        levels=CLUSTER,
        in_code="a whole number >= 1, such as 8",
    ),
    Setting(
        "max_tasks",
        "larger graphs are left to Dask",
        reading.count,
        20_000,
        levels=CLUSTER,
        in_code="a whole number >= 1, such as 20000",
    ),
    Setting(
        "plan_wait", "seconds that tasks wait for a plan", reading.patience, 0.15, levels=CLUSTER
    ),
    Setting(
        "hung_after",
        "seconds without a heartbeat until a worker is given up; 0 for never",
        reading.patience,
        10.0,
        levels=CLUSTER,
    ),
    Setting(
        "advisor",
        "who plans on a scheduler, package.module:function",
        reading.text,
        "orchestrator_core.orchestrate:advisor_for_store",
        levels=CLUSTER,
    ),
    Setting("worker_kind", "of a worker, what it is", reading.text, levels=WORKER),
    Setting("worker_speed", "of a worker, beside others", reading.positive, levels=WORKER),
    Setting("worker_price", "of a worker, for an hour", reading.price, levels=WORKER),
    Setting("cache", "folder of measured devices", reading.text, levels=MACHINE),
    Setting("plan_cache", "folder of conducted plans; off for none", reading.text, levels=MACHINE),
    Setting("compile", "wait: compile planners before they are used", reading.wait, levels=MACHINE),
)

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}
"""By name, in the order in which they are shown."""
