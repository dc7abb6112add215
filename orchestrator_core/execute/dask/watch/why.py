"""Why is this task where it is, and what does it wait for? For one task, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from distributed.metrics import monotonic, time

from orchestrator_core.execute.dask.watch.run_view import RunView, views
from orchestrator_core.execute.dask.watch.status import Status
from orchestrator_core.execute.dask.watch.timeline import PlannedRow
from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import TaskState

LONGEST_CHAIN = 12
"""Links of the chain of what a task waits for; the chain goes on beyond."""

MOST_GUESSES = 3
"""Names that are offered where a key is not known."""

OPEN = frozenset({"waiting", "processing", "queued", "no-worker"})
"""States of tasks that are still to come to an end."""


def why(status: Status, key: str) -> dict[str, Any]:
    """Where the task of that key is, where it was planned and why; times in seconds from the start
    of its run.

    The key may be given as Dask prints it, and cut off at the end if nothing else begins so. Of an
    unknown one, ``unknown`` holds keys that read alike.
    """
    found = _find(status, key)
    if isinstance(found, list):
        return {"unknown": found}
    view = next((v for v in views(status.session).values() if v.label(found.key)), None)
    link = _link(status, view, found)
    return link | {
        "run_id": None if view is None else view.run_id,
        "flow": None if view is None else view.flow,
        "now": None if view is None else time() - view.started_at,
        "mode": status.session.mode,
        "followed": None if view is None else view.reason,
        "planned": _planned(status, view, found),
        "ran": _ran(view, found.key),
        "held_until": _held_until(status, view, found.key),
        "waits_for": list(islice(_chain(status, view, found), LONGEST_CHAIN)),
    }


def _find(status: Status, key: str) -> TaskState | list[str]:
    """The task, or keys that read alike."""
    tasks = status.session.scheduler.tasks
    if key in tasks:
        return tasks[key]
    # Keys that are no strings, such as ('x', 0), are named as they are printed.
    alike = [state for known, state in tasks.items() if str(known).startswith(key)]
    exact = [state for state in alike if str(state.key) == key]
    if len(exact or alike) == 1:
        return (exact or alike)[0]
    return sorted(str(state.key) for state in alike)[:MOST_GUESSES]


def _planned(status: Status, view: RunView | None, state: TaskState) -> dict[str, Any] | None:
    """What the plan in force says; None for a task that nobody planned."""
    follower = status.session.steering.follower
    slot, row = follower.slot(state.key), _row(status, view, state.key)
    if slot is None and row is None:
        return None
    return {
        "worker": slot.worker if slot is not None else row.worker if row is not None else None,
        "rank": None if slot is None else slot.rank,
        "start": None if row is None else row.start,
        "end": None if row is None else row.end,
    }


def _ran(view: RunView | None, key: Key) -> dict[str, Any] | None:
    """Where and when the task ran last; None if it has not."""
    record = None if view is None else view.last(key)
    if record is None:
        return None
    return {name: getattr(record, name) for name in ("worker", "start", "end", "status", "attempt")}


def _row(status: Status, view: RunView | None, key: Key) -> PlannedRow | None:
    timeline = None if view is None else status.timeline(view)
    return None if view is None or timeline is None else timeline.row(view, key)


def _held_until(status: Status, view: RunView | None, key: Key) -> float | None:
    """Seconds from the start of its run; holds end by another clock than runs begin by."""
    deadline = status.session.steering.follower.held.get(key)
    if deadline is None or view is None:
        return None
    return time() - view.started_at + deadline - monotonic()


def _chain(status: Status, view: RunView | None, state: TaskState) -> Iterator[dict[str, Any]]:
    """What the task waits for, what that waits for, and so on.

    Of several inputs the one that is expected last; a task that was sent waits for what its worker
    runs.
    """
    seen = {state.key}
    while (cause := _cause(status, view, state)) is not None and cause[0].key not in seen:
        state, because = cause
        seen.add(state.key)
        yield _link(status, view, state) | {"because": because}


def _cause(status: Status, view: RunView | None, state: TaskState) -> tuple[TaskState, str] | None:
    if state.state not in OPEN:
        return None
    missing = [d for d in state.dependencies if d.state in OPEN]
    if missing:
        return max(missing, key=lambda d: (_end(status, view, d), str(d.key))), "input"
    place = state.processing_on
    if place is None or state in place.executing:
        return None
    running = sorted(place.executing, key=lambda task: str(task.key))
    return (running[0], "worker") if running else None


def _end(status: Status, view: RunView | None, state: TaskState) -> float:
    row = _row(status, view, state.key)
    return 0.0 if row is None else row.end


def _link(status: Status, view: RunView | None, state: TaskState) -> dict[str, Any]:
    """One task of a chain: its key, how far it is, where, and when it was to end."""
    follower, place = status.session.steering.follower, state.processing_on
    stage, row = follower.stage(state.key), _row(status, view, state.key)
    begun = place is not None and state in place.executing
    holders = sorted(status.worker_of(ws.address) for ws in state.who_has or ())
    return {
        "key": str(state.key),
        "state": "running" if begun else state.state,
        "stage": None if stage is None else stage.value,
        "worker": status.worker_of(place.address) if place is not None else ", ".join(holders),
        "planned_end": None if row is None else row.end,
    }
