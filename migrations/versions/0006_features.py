"""Numbers that may tell how long a task takes, as JSON by name.

History: never imports the live tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("task_records", sa.Column("features", sa.Text, nullable=True))


def downgrade() -> None:
    op.drop_column("task_records", "features")
