"""Findings: what was found about a graph while it ran, and whether its plan is worth following.

History: never imports the live tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "findings",
        sa.Column("graph_signature", sa.Text, nullable=False),
        sa.Column("crowd", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Float(53), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("graph_signature", "crowd", name="pk_findings"),
    )
    op.create_index("ix_findings_updated_at", "findings", ["updated_at"])


def downgrade() -> None:
    op.drop_table("findings")
