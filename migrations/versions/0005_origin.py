"""Where the code of a run's flow stands: flows of one name are not one flow.

History: never imports the live tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "runs", sa.Column("origin", sa.Text, nullable=False, server_default=sa.text("''"))
    )
    op.create_index("ix_runs_origin_started_at", "runs", ["origin", "started_at"])
    _view(", origin")


def downgrade() -> None:
    _view("")
    op.drop_index("ix_runs_origin_started_at", "runs")
    op.drop_column("runs", "origin")


def _view(more: str) -> None:
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
       seconds / NULLIF(predicted, 0) AS ratio, default_predicted, lower_bound,
       mode, reason, planner, cache, status, tasks, graph_signature, cluster_signature{more}
FROM runs
"""
    )
