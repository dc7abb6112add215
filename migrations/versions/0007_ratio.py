"""No ratio for runs that were cancelled: what was predicted is for all of their tasks.

History: never imports the live tables.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _view("CASE WHEN status <> 'cancelled' THEN seconds / NULLIF(predicted, 0) END")


def downgrade() -> None:
    _view("seconds / NULLIF(predicted, 0)")


def _view(ratio: str) -> None:
    begin, end = (
        ("datetime(", ", 'unixepoch')")
        if op.get_bind().dialect.name == "sqlite"
        else ("to_char(to_timestamp(", ") AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')")
    )
    op.execute("DROP VIEW v_runs")
    op.execute(
        f"""
CREATE VIEW v_runs AS
SELECT run_id, flow, {begin}started_at{end} AS started_at, seconds, predicted,
       {ratio} AS ratio, default_predicted, lower_bound,
       mode, reason, planner, cache, status, tasks, graph_signature, cluster_signature, origin
FROM runs
"""
    )
