"""What earlier tries of a flow run have stored, as the Prefect server knows it.

A flow run that was suspended, that is tried again, or whose process died, runs its body again under
the same id; Prefect takes what was stored from its storage. The server knows of each task run where
its result is and which other task runs it took inputs from; so it is found again whoever ran it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterId,
    TaskRunFilter,
    TaskRunFilterState,
    TaskRunFilterStateType,
)
from prefect.client.schemas.objects import StateType, TaskRun

PAGE = 200
"""Task runs that the server gives at once."""

MOST = 5000
"""Task runs that are looked at."""

Inputs = frozenset[tuple[str, frozenset[str | None]]]
"""Per parameter, the keys of the results that it is made of; None for one that is not stored."""


@dataclass(frozen=True)
class EarlierTries:
    """Attributes:
    keys: of stored results. taking: those of tasks that took results of others, by the task's
        function and what it took; in order of their start.
    """

    keys: frozenset[str] = frozenset()
    taking: Mapping[tuple[str, Inputs], list[str]] = field(default_factory=dict)

    @staticmethod
    def of(flow_run_id: UUID) -> EarlierTries:
        """What the server knows.

        Raises:
            Exception: whatever talking to the server meets.
        """
        return from_task_runs(_completed(flow_run_id))


def from_task_runs(task_runs: Iterable[TaskRun]) -> EarlierTries:
    """What these task runs, in order of their start, have stored."""
    stored = [(each, key) for each in task_runs if (key := _stored_under(each))]
    key_of: dict[UUID | None, str] = {run.id: key for run, key in stored}
    taking: dict[tuple[str, Inputs], dict[str, None]] = defaultdict(dict)
    for run, key in stored:
        inputs = {
            name: [_source(each) for each in given]
            for name, given in run.task_inputs.items()
            if given and name not in ("wait_for", "__parents__")
        }
        took = frozenset((name, frozenset(map(key_of.get, ids))) for name, ids in inputs.items())
        taking[run.task_key, took][key] = None
    return EarlierTries(
        frozenset(key for _, key in stored),
        {place: list(keys) for place, keys in taking.items()},
    )


def _stored_under(run: TaskRun) -> str | None:
    data: Any = getattr(run.state, "data", None)
    key, expiration = getattr(data, "storage_key", None), getattr(data, "expiration", None)
    if not key or (expiration is not None and expiration <= datetime.now(UTC)):
        return None
    # With a folder before it, where that belongs to no saved block.
    return str(key).replace("\\", "/").rpartition("/")[2]


def _source(given: Any) -> UUID | None:
    """The task run that an input is from."""
    found: UUID | None = getattr(given, "id", None)
    return found


def _completed(flow_run_id: UUID) -> list[TaskRun]:
    done = TaskRunFilterState(type=TaskRunFilterStateType(any_=[StateType.COMPLETED]))
    found: list[TaskRun] = []
    with get_client(sync_client=True) as client:
        while len(found) < MOST:
            page = client.read_task_runs(
                flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id])),
                task_run_filter=TaskRunFilter(state=done),
                limit=PAGE,
                offset=len(found),
            )
            found += page
            if len(page) < PAGE:
                break
    return sorted(found, key=lambda run: (run.start_time is None, run.start_time))
