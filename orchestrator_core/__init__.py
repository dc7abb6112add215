"""Orchestrator: plans who runs which task when, on mixed workers, with a proven bound.

Five stages, in the order in which they happen:

    graph    what is to run, and on what        TaskGraph, Cluster
    costs    how long, how many bytes           CostModel, Instance
    plan     who does what, when                plan -> PlanResult (Schedule, lower bound, why)
    execute  do it, and watch                   optimize (any Dask work) -> RunRecord
    learn    be less wrong next time            a CostModel for the next run

`ScheduleStore` remembers schedules and runs. Importing this package is cheap: each name below is
loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator_core.costs.instance import Instance
    from orchestrator_core.costs.model import CostModel, FirstKnown, GraphCosts, TableCosts
    from orchestrator_core.errors import (
        InfeasibleInstance,
        InvalidBudget,
        InvalidCertificate,
        InvalidCluster,
        InvalidFormat,
        InvalidGraph,
        InvalidInput,
        InvalidInstance,
        InvalidSchedule,
        OrchestratorError,
        PlanningFailed,
        ProvenInfeasible,
        SchemaMismatch,
        StoreError,
        UnknownRun,
        UnsupportedInstance,
    )
    from orchestrator_core.execute.dask.optimize import optimize
    from orchestrator_core.execute.dask.plugin import OrchestratorPlugin
    from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
    from orchestrator_core.graph.cluster import Cluster, Link, Worker
    from orchestrator_core.graph.formats import read_cluster, read_workflow
    from orchestrator_core.graph.task import Edge, Mode, Task
    from orchestrator_core.graph.task_graph import TaskGraph
    from orchestrator_core.orchestrate import Orchestrator
    from orchestrator_core.plan.budget import Budget
    from orchestrator_core.plan.certified import check_certificate
    from orchestrator_core.plan.check import check_schedule
    from orchestrator_core.plan.objective import Objective
    from orchestrator_core.plan.objectives.pareto import pareto
    from orchestrator_core.plan.objectives.robust import robust_plan
    from orchestrator_core.plan.portfolio import plan
    from orchestrator_core.plan.realtime import (
        PeriodicFlow,
        SporadicFlow,
        admit,
        feasibility,
    )
    from orchestrator_core.plan.repair import Repairer, check_replan, replan
    from orchestrator_core.plan.result import Attempt, PlanResult, PlanStatus
    from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
    from orchestrator_core.store.sql import ScheduleStore

_HOME = {
    "Assignment": "plan.schedule",
    "Attempt": "plan.result",
    "Budget": "plan.budget",
    "Cluster": "graph.cluster",
    "CostModel": "costs.model",
    "Edge": "graph.task",
    "FirstKnown": "costs.model",
    "GraphCosts": "costs.model",
    "InfeasibleInstance": "errors",
    "Instance": "costs.instance",
    "InvalidBudget": "errors",
    "InvalidCertificate": "errors",
    "InvalidCluster": "errors",
    "InvalidFormat": "errors",
    "InvalidGraph": "errors",
    "InvalidInput": "errors",
    "InvalidInstance": "errors",
    "InvalidSchedule": "errors",
    "Link": "graph.cluster",
    "Mode": "graph.task",
    "Objective": "plan.objective",
    "Orchestrator": "orchestrate",
    "OrchestratorError": "errors",
    "OrchestratorPlugin": "execute.dask.plugin",
    "PeriodicFlow": "plan.realtime",
    "PlanRecord": "execute.record",
    "PlanResult": "plan.result",
    "PlanStatus": "plan.result",
    "PlanningFailed": "errors",
    "ProvenInfeasible": "errors",
    "Repairer": "plan.repair",
    "RunRecord": "execute.record",
    "Schedule": "plan.schedule",
    "ScheduleStore": "store.sql",
    "SchemaMismatch": "errors",
    "SporadicFlow": "plan.realtime",
    "StoreError": "errors",
    "TableCosts": "costs.model",
    "Task": "graph.task",
    "TaskGraph": "graph.task_graph",
    "TaskRecord": "execute.record",
    "Transfer": "plan.schedule",
    "UnknownRun": "errors",
    "UnsupportedInstance": "errors",
    "Worker": "graph.cluster",
    "admit": "plan.realtime",
    "check_certificate": "plan.certified",
    "check_replan": "plan.repair",
    "check_schedule": "plan.check",
    "feasibility": "plan.realtime",
    "optimize": "execute.dask.optimize",
    "pareto": "plan.objectives.pareto",
    "plan": "plan.portfolio",
    "read_cluster": "graph.formats",
    "read_workflow": "graph.formats",
    "replan": "plan.repair",
    "robust_plan": "plan.objectives.robust",
}

__version__ = "0.1.0"

__all__ = [
    "Assignment",
    "Attempt",
    "Budget",
    "Cluster",
    "CostModel",
    "Edge",
    "FirstKnown",
    "GraphCosts",
    "InfeasibleInstance",
    "Instance",
    "InvalidBudget",
    "InvalidCertificate",
    "InvalidCluster",
    "InvalidFormat",
    "InvalidGraph",
    "InvalidInput",
    "InvalidInstance",
    "InvalidSchedule",
    "Link",
    "Mode",
    "Objective",
    "Orchestrator",
    "OrchestratorError",
    "OrchestratorPlugin",
    "PeriodicFlow",
    "PlanRecord",
    "PlanResult",
    "PlanStatus",
    "PlanningFailed",
    "ProvenInfeasible",
    "Repairer",
    "RunRecord",
    "Schedule",
    "ScheduleStore",
    "SchemaMismatch",
    "SporadicFlow",
    "StoreError",
    "TableCosts",
    "Task",
    "TaskGraph",
    "TaskRecord",
    "Transfer",
    "UnknownRun",
    "UnsupportedInstance",
    "Worker",
    "admit",
    "check_certificate",
    "check_replan",
    "check_schedule",
    "feasibility",
    "optimize",
    "pareto",
    "plan",
    "read_cluster",
    "read_workflow",
    "replan",
    "robust_plan",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "plan":  # the package of that name, which can be called: see its docstring
        return importlib.import_module(f"{__name__}.plan")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
