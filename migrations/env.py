"""Alembic's entry: runs the migrations on the connection that the store's `schema` hands in.

The caller has begun the transaction, and commits it: all migrations happen, or none.
"""

from __future__ import annotations

from alembic import context

connection = context.config.attributes.get("connection")
if connection is None:
    raise RuntimeError(
        "these migrations need a connection in config.attributes; type: orchestrator db upgrade"
    )
context.configure(
    connection=connection,
    target_metadata=context.config.attributes.get("target_metadata"),
    render_as_batch=connection.dialect.name == "sqlite",
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
