"""What hooks and tasks in this process did, by flow run; a module is never pickled."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock
from typing import Any

from prefect.context import FlowRunContext, TaskRunContext

_lock = Lock()
_notes: dict[str, list[str]] = defaultdict(list)


def note(text: str, flow_run_id: Any = None) -> None:
    """This happened in that flow run, or in the current one."""
    with _lock:
        _notes[str(flow_run_id or _current())].append(text)


def of(flow_run_id: Any) -> list[str]:
    """What happened there, in order."""
    with _lock:
        return list(_notes[str(flow_run_id)])


def forget(flow_run_id: Any) -> None:
    """As if nothing had happened there."""
    with _lock:
        _notes.pop(str(flow_run_id), None)


def _current() -> Any:
    task = TaskRunContext.get()
    if task is not None and task.task_run.flow_run_id is not None:
        return task.task_run.flow_run_id
    flow = FlowRunContext.get()
    return flow.flow_run.id if flow is not None and flow.flow_run is not None else None
