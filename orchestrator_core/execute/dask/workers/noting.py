"""Noting: what the code of a task tells about itself; it travels with the message of its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FACTS = "orchestrator"
"""The entry in a task's metadata."""

SETUP, DEVICE = "setup_seconds", "device_bytes"
"""Seconds of it that were no work of the task; bytes of an accelerator's memory that it needs."""

WORK = "orchestrator-work"
"""Entry in the span of a computation: seconds of the task's own code, as whoever runs it found."""

_RUN = "run"


def note(**facts: float) -> None:
    """Tell the scheduler of the task that this thread runs: of several `SETUP` the sum, of others
    the largest. Does nothing outside of a worker's task."""
    state = _running()
    if state is None:
        return
    found = state.metadata.get(FACTS)
    if found is None or found[_RUN] != state.run_id:
        # Tasks that run again keep what they said before.
        found = state.metadata[FACTS] = {_RUN: state.run_id}
    for name, fact in facts.items():
        before = found.get(name, 0.0)
        found[name] = before + fact if name == SETUP else max(before, fact)


def facts_in(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What was noted, in a task's metadata."""
    found = (metadata or {}).get(FACTS)
    return found if isinstance(found, Mapping) else {}


def _running() -> Any:
    """The worker's state of the task that this thread runs."""
    from distributed.utils import thread_state  # type: ignore[attr-defined]

    key = getattr(thread_state, "key", None)
    worker = getattr(thread_state, "execution_state", {}).get("worker")
    return None if worker is None else worker.state.tasks.get(key)
