"""What of a task's time was spent around its own code.

History: never imports the live tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("task_records", sa.Column("overhead_seconds", sa.Float(53), nullable=True))
    _view(", t.overhead_seconds")


def downgrade() -> None:
    _view("")
    op.drop_column("task_records", "overhead_seconds")


def _view(more: str) -> None:
    op.execute("DROP VIEW v_tasks")
    op.execute(
        f"""
CREATE VIEW v_tasks AS
SELECT t.run_id, r.flow, t.task, t.kind, t.worker, t.worker_kind, t.start_seconds, t.end_seconds,
       t.end_seconds - t.start_seconds AS seconds, t.transfer_seconds, t.nbytes, t.memory_peak,
       t.attempt, t.status, COALESCE(t.setup_seconds, 0.0) AS setup_seconds, t.device_memory{more}
FROM task_records AS t JOIN runs AS r ON r.run_id = t.run_id
"""
    )
