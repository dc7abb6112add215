"""The tables as SQLAlchemy sees them. What they were like before is told by `migrations/`.

Times are seconds; points in time are seconds since 1970 (UTC). A test holds these tables and the
migrations together. Users query the views (`VIEWS`), which keep their columns.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_COUNTER: Final = BigInteger().with_variant(Integer(), "sqlite")

schedules = Table(
    "schedules",
    metadata,
    Column("id", _COUNTER, primary_key=True),
    Column("graph_signature", Text, nullable=False),
    Column("cluster_signature", Text, nullable=False),
    Column("objective", Text, nullable=False),
    Column("cost_bucket", Text, nullable=False),
    Column("flow", Text, nullable=False),
    Column("planner", Text, nullable=False),
    Column("makespan", Float(53), nullable=False),
    Column("lower_bound", Float(53), nullable=False),
    Column("bound_method", Text, nullable=False),
    Column("prices", Text, nullable=False),
    Column("assignments", Integer, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("used_at", Float(53), nullable=False),
    Column("hits", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint(
        "graph_signature", "cluster_signature", "objective", "cost_bucket", name="uq_schedules_key"
    ),
    Index(None, "used_at"),
    Index(None, "flow"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("flow", Text, nullable=False),
    Column("started_at", Float(53), nullable=False),
    Column("seconds", Float(53), nullable=False),
    Column("mode", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("graph_signature", Text, nullable=False),
    Column("cluster_signature", Text, nullable=False),
    Column("planner", Text, nullable=True),
    Column("cache", Text, nullable=False),
    Column("adopted", Boolean, nullable=False),
    Column("predicted", Float(53), nullable=True),
    Column("default_predicted", Float(53), nullable=True),
    Column("lower_bound", Float(53), nullable=True),
    Column("tasks", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("origin", Text, nullable=False, server_default=text("''")),
    Column("others", Float(53), nullable=False, server_default=text("0")),
    Index(None, "flow", "started_at"),
    Index(None, "origin", "started_at"),
    Index(None, "started_at"),
)

task_records = Table(
    "task_records",
    metadata,
    Column("id", _COUNTER, primary_key=True),
    Column("run_id", ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    Column("task", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("worker_kind", Text, nullable=False),
    Column("start_seconds", Float(53), nullable=False),
    Column("end_seconds", Float(53), nullable=False),
    Column("nbytes", Float(53), nullable=True),
    Column("transfer_seconds", Float(53), nullable=True),
    Column("attempt", Integer, nullable=False),
    Column("memory_peak", Float(53), nullable=True),
    Column("status", Text, nullable=False),
    Column("teaches", Boolean, nullable=False),
    Column("setup_seconds", Float(53), nullable=True),
    Column("device_memory", Float(53), nullable=True),
    Column("overhead_seconds", Float(53), nullable=True),
    Column("features", Text, nullable=True),
    Index(None, "run_id"),
    Index(None, "kind", "id"),
)

cost_models = Table(
    "cost_models",
    metadata,
    Column("name", Text, primary_key=True),
    Column("updated_at", Float(53), nullable=False),
    Column("body", LargeBinary, nullable=False),
)

findings = Table(
    "findings",
    metadata,
    Column("graph_signature", Text, primary_key=True),
    Column("crowd", Text, primary_key=True),
    Column("updated_at", Float(53), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "updated_at"),
)

cluster_observations = Table(
    "cluster_observations",
    metadata,
    Column("cluster_signature", Text, primary_key=True),
    Column("workers", Integer, nullable=False),
    Column("used_at", Float(53), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index(None, "used_at"),
)

VIEWS: Final[dict[str, dict[str, str]]] = {
    "v_schedules": {
        "graph_signature": "which graph, whatever its names",
        "cluster_signature": "which kinds of workers, and how many",
        "objective": "what was minimised",
        "cost_bucket": "durations and sizes, roughly",
        "flow": "flow that it was first planned for",
        "planner": "who made it",
        "makespan": "seconds",
        "lower_bound": "seconds; no schedule is shorter",
        "gap": "makespan / lower_bound - 1; null without a bound",
        "bound_method": "how the bound was proven",
        "assignments": "number of task instances",
        "hits": "how often it was found",
        "created_at": "UTC, YYYY-MM-DD HH:MM:SS",
        "used_at": "UTC, YYYY-MM-DD HH:MM:SS",
    },
    "v_runs": {
        "run_id": "id of the run",
        "flow": "name of the flow",
        "started_at": "UTC, YYYY-MM-DD HH:MM:SS",
        "seconds": "how long it took",
        "predicted": "seconds expected, by the plan if followed; null if nothing was planned",
        "ratio": "seconds / predicted; null for a run that was cancelled, or shared its workers",
        "default_predicted": "seconds that Dask's own policy was predicted to take",
        "lower_bound": "seconds; no schedule is shorter",
        "mode": "observed or planned",
        "reason": "why this mode",
        "planner": "who made the plan",
        "cache": "hit, near or miss; empty if nothing was planned",
        "status": "ok, failed or cancelled",
        "tasks": "number of task records",
        "graph_signature": "which graph",
        "cluster_signature": "which kinds of workers, and how many",
        "origin": "project/file:function of the flow; empty if not known",
        "others": "part of the workers' time, from 0 to 1, that tasks of other runs had",
    },
    "v_tasks": {
        "run_id": "id of the run",
        "flow": "name of the flow",
        "task": "name of the task",
        "kind": "what durations are learned about",
        "worker": "where it ran",
        "worker_kind": "kind of that worker",
        "start_seconds": "from the start of the run",
        "end_seconds": "from the start of the run",
        "seconds": "end - start",
        "transfer_seconds": "time spent fetching inputs before the start",
        "nbytes": "size of the output",
        "memory_peak": "bytes; null if not measured",
        "attempt": "1 for the first try",
        "status": "ok, failed, cached, or left: it still ran when the flow ended",
        "setup_seconds": "part of it that was no work of its own: compiling, waiting for memory",
        "device_memory": "bytes that it needs on an accelerator; null if not known",
        "overhead_seconds": "part of it that Prefect took around its code; null if not measured",
    },
}
"""The views that users may query: each column and what it means."""
