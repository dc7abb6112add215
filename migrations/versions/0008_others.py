"""What tasks of other runs had of the workers of a run; no ratio where that was a part of it.

History: never imports the live tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    zero = sa.text("0")
    op.add_column("runs", sa.Column("others", sa.Float(53), nullable=False, server_default=zero))
    _view("status <> 'cancelled' AND others <= 0.05", ", others")


def downgrade() -> None:
    _view("status <> 'cancelled'")
    op.drop_column("runs", "others")


def _view(counts: str, more: str = "") -> None:
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
       CASE WHEN {counts} THEN seconds / NULLIF(predicted, 0) END AS ratio, default_predicted,
       lower_bound, mode, reason, planner, cache, status, tasks, graph_signature,
       cluster_signature, origin{more}
FROM runs
"""
    )
