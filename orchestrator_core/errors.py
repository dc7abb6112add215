"""Every error of the project, as a tree.

    OrchestratorError
    ├── InvalidInput            (also a ValueError)
    │   ├── InvalidGraph        a task graph that is none: cycle, unknown or duplicate name, NaN
    │   ├── InvalidCluster      workers or links that cannot be
    │   ├── InvalidInstance     durations that do not fit the graph and the cluster
    │   ├── InvalidFormat       a file or a JSON text that cannot be read
    │   ├── InvalidBudget       a planning budget that cannot be kept
    │   ├── InvalidGoal         what a function is to be conducted for is not known
    │   └── UnknownFlow         no flow by that name
    ├── InvalidSchedule         a schedule that breaks a rule of the problem
    ├── InvalidCertificate      a certificate that does not prove the bound that it names
    ├── InfeasibleInstance      no schedule exists; the smallest cause is named
    ├── UnsupportedInstance     a planner cannot take an instance
    ├── PlanningFailed          no planner gave a schedule
    │   └── ProvenInfeasible    and one of them has proven that there is none
    ├── ClusterError            a Dask cluster that cannot be reached, or has no plugin
    └── StoreError              the database of schedules and runs cannot be used
        ├── SchemaMismatch      it was written by another version of the project
        ├── UnknownRun          no run with that id
        └── DamagedBlob         (of `store.codec`) a record is not what was written

A message names the thing, what was found, what was possible, and what to do.
"""

from __future__ import annotations


class OrchestratorError(Exception):
    """The root of all errors that this project raises on purpose."""


class InvalidInput(OrchestratorError, ValueError):
    """A value that was handed in cannot be used."""


class InvalidGraph(InvalidInput):
    """A task graph with a cycle, an unknown or duplicate name, or a number that makes no sense."""


class InvalidCluster(InvalidInput):
    """Workers or links that cannot exist."""


class InvalidInstance(InvalidInput):
    """Durations that do not fit the graph and the cluster that they price."""


class InvalidFormat(InvalidInput):
    """A file or text that is not in the format that it claims."""


class InvalidBudget(InvalidInput):
    """A planning budget that cannot be kept."""


class InvalidGoal(InvalidInput):
    """What a function is to be conducted for: an unknown objective, precision or rewrite."""


class UnknownFlow(InvalidInput):
    """There is no flow by that name where it was looked for."""


class InvalidSchedule(OrchestratorError):
    """A schedule breaks a rule: `rule` is its short name, `task` the first task that breaks it."""

    def __init__(self, message: str, *, rule: str, task: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule
        self.task = task


class InvalidCertificate(OrchestratorError):
    """A certificate proves less than it says, or refers to what the instance does not have."""


class InfeasibleInstance(OrchestratorError):
    """No schedule can exist; the message names the smallest cause, `task` the task that it hits."""

    def __init__(self, message: str, *, task: str | None = None) -> None:
        super().__init__(message)
        self.task = task


class UnsupportedInstance(OrchestratorError):
    """A planner was asked for an instance that it cannot take; the message names the constraint."""


class PlanningFailed(OrchestratorError):
    """No planner of the portfolio gave a schedule; the message says what each of them met."""


class ProvenInfeasible(PlanningFailed):
    """A planner has proven that no schedule keeps all deadlines and constraints; it is named."""


class ClusterError(OrchestratorError):
    """A Dask cluster cannot be reached, or there is nobody on it to be asked."""


class StoreError(OrchestratorError):
    """The database of schedules and runs cannot be used."""


class SchemaMismatch(StoreError):
    """The database was written by another version; the message holds the command to type."""


class UnknownRun(StoreError):
    """No run with that id is stored."""
