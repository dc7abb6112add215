"""Schedules, runs, task records, learned costs, clusters, and the views for users.

History: never imports the live tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_schedules()
    _create_runs()
    _create_task_records()
    _create_memories()
    postgres = op.get_bind().dialect.name == "postgresql"
    for view in (V_SCHEDULES, V_RUNS, V_TASKS):
        op.execute(_POSTGRES_TIME.sub(view) if postgres else _SQLITE_TIME.sub(view))


def downgrade() -> None:
    for view in ("v_tasks", "v_runs", "v_schedules"):
        op.execute(f"DROP VIEW {view}")
    for table in ("cluster_observations", "cost_models", "task_records", "runs", "schedules"):
        op.drop_table(table)


def _create_schedules() -> None:
    op.create_table(
        "schedules",
        _counter(),
        sa.Column("graph_signature", sa.Text, nullable=False),
        sa.Column("cluster_signature", sa.Text, nullable=False),
        sa.Column("objective", sa.Text, nullable=False),
        sa.Column("cost_bucket", sa.Text, nullable=False),
        sa.Column("flow", sa.Text, nullable=False),
        sa.Column("planner", sa.Text, nullable=False),
        sa.Column("makespan", sa.Float(53), nullable=False),
        sa.Column("lower_bound", sa.Float(53), nullable=False),
        sa.Column("bound_method", sa.Text, nullable=False),
        sa.Column("prices", sa.Text, nullable=False),
        sa.Column("assignments", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float(53), nullable=False),
        sa.Column("used_at", sa.Float(53), nullable=False),
        sa.Column("hits", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
        sa.UniqueConstraint(
            "graph_signature",
            "cluster_signature",
            "objective",
            "cost_bucket",
            name="uq_schedules_key",
        ),
    )
    op.create_index("ix_schedules_used_at", "schedules", ["used_at"])
    op.create_index("ix_schedules_flow", "schedules", ["flow"])


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("flow", sa.Text, nullable=False),
        sa.Column("started_at", sa.Float(53), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("graph_signature", sa.Text, nullable=False),
        sa.Column("cluster_signature", sa.Text, nullable=False),
        sa.Column("planner", sa.Text, nullable=True),
        sa.Column("cache", sa.Text, nullable=False),
        sa.Column("adopted", sa.Boolean, nullable=False),
        sa.Column("predicted", sa.Float(53), nullable=True),
        sa.Column("default_predicted", sa.Float(53), nullable=True),
        sa.Column("lower_bound", sa.Float(53), nullable=True),
        sa.Column("tasks", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )
    op.create_index("ix_runs_flow_started_at", "runs", ["flow", "started_at"])
    op.create_index("ix_runs_started_at", "runs", ["started_at"])


def _create_task_records() -> None:
    op.create_table(
        "task_records",
        _counter(),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("worker_kind", sa.Text, nullable=False),
        sa.Column("start_seconds", sa.Float(53), nullable=False),
        sa.Column("end_seconds", sa.Float(53), nullable=False),
        sa.Column("nbytes", sa.Float(53), nullable=True),
        sa.Column("transfer_seconds", sa.Float(53), nullable=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("memory_peak", sa.Float(53), nullable=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("teaches", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_task_records"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name="fk_task_records_run_id_runs", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_task_records_run_id", "task_records", ["run_id"])
    op.create_index("ix_task_records_kind_id", "task_records", ["kind", "id"])


def _create_memories() -> None:
    op.create_table(
        "cost_models",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Float(53), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_cost_models"),
    )
    op.create_table(
        "cluster_observations",
        sa.Column("cluster_signature", sa.Text, nullable=False),
        sa.Column("workers", sa.Integer, nullable=False),
        sa.Column("used_at", sa.Float(53), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("cluster_signature", name="pk_cluster_observations"),
    )
    op.create_index("ix_cluster_observations_used_at", "cluster_observations", ["used_at"])


def _counter() -> sa.Column[int]:
    return sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False)


class _Time:
    """Writes ``{{column}}`` of a view as the dialect's UTC text of seconds since 1970."""

    def __init__(self, before: str, after: str) -> None:
        self._before, self._after = before, after

    def sub(self, view: str) -> str:
        return view.replace("{{", self._before).replace("}}", self._after)


_SQLITE_TIME = _Time("datetime(", ", 'unixepoch')")
_POSTGRES_TIME = _Time("to_char(to_timestamp(", ") AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')")

V_SCHEDULES = """
CREATE VIEW v_schedules AS
SELECT graph_signature, cluster_signature, objective, cost_bucket, flow, planner,
       makespan, lower_bound, makespan / NULLIF(lower_bound, 0) - 1 AS gap, bound_method,
       assignments, hits, {{created_at}} AS created_at, {{used_at}} AS used_at
FROM schedules
"""

V_RUNS = """
CREATE VIEW v_runs AS
SELECT run_id, flow, {{started_at}} AS started_at, seconds, predicted,
       seconds / NULLIF(predicted, 0) AS ratio, default_predicted, lower_bound,
       mode, reason, planner, cache, status, tasks, graph_signature, cluster_signature
FROM runs
"""

V_TASKS = """
CREATE VIEW v_tasks AS
SELECT t.run_id, r.flow, t.task, t.kind, t.worker, t.worker_kind, t.start_seconds, t.end_seconds,
       t.end_seconds - t.start_seconds AS seconds, t.transfer_seconds, t.nbytes, t.memory_peak,
       t.attempt, t.status
FROM task_records AS t JOIN runs AS r ON r.run_id = t.run_id
"""
