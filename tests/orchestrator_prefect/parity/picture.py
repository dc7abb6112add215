"""What a flow run looks like to its user, without what differs from run to run."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isasyncgen, iscoroutine, isgenerator
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    FlowRunFilterParentFlowRunId,
)
from prefect.client.schemas.objects import State, TaskRun

import orchestrator_prefect

from ..listening import listening
from . import notes

SETTLED_SECONDS = 20.0
"""How long the server may take to hear of all task runs."""

PACKAGE = Path(orchestrator_prefect.__file__).parent
OURS = "orchestrator-"
NO_NAMES: Mapping[str, str] = {}

_RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|0x[0-9a-f]+|\b[0-9a-f]{32,}\b"
    r"|tcp://\S+|inproc://\S+|\d\d:\d\d:\d\d\S*|\d+\.\d+(?= second)"
)


@dataclass
class Run:
    """One run of a flow: its end, and what was logged."""

    state: Any
    value: Any
    flow_run_id: Any
    logs: list[logging.LogRecord] = field(default_factory=list)


def run(made: Callable[..., Any], *arguments: Any, raises: bool = False) -> Run:
    """Call a flow; of generators, take all that they give."""
    logs: list[logging.LogRecord] = []

    def note(record: logging.LogRecord) -> None:
        if not Path(record.pathname).is_relative_to(PACKAGE):
            logs.append(record)

    with listening(["prefect.flow_runs", "prefect.task_runs"], note):
        try:
            state = _finished(made(*arguments) if raises else made(*arguments, return_state=True))
            value = _plain(state)
        except BaseException as error:
            state, value = None, _plain(error)
    if isinstance(state, State):
        return Run(state, value, state.state_details.flow_run_id, logs)
    begun = (each for each in logs if each.getMessage().startswith("Beginning flow run"))
    return Run(state, value, next(begun).flow_run_id, logs)  # type: ignore[attr-defined]


def picture(found: Run) -> dict[str, Any]:
    """All that a user can see of the run; waits until the server has heard of all of it."""
    with get_client(sync_client=True) as client:
        family = _family(client, found.flow_run_id)
        members = {str(each.id) for each in family}
        logs = [each for each in found.logs if str(getattr(each, "flow_run_id", "")) in members]
        seen = {str(each.task_run_id) for each in logs if getattr(each, "task_run_id", None)}
        task_runs = _settled(client, family, seen)
        names = {each.name: _name(each) for each in task_runs}
        names.update({each.name: "<flow run>" for each in family if "-" in each.name})
        return {
            "value": found.value,
            "notes": sorted(notes.of(found.flow_run_id)),
            "flow runs": sorted(_flow_run(client, each, names) for each in family),
            "task runs": sorted(_task_run(client, each, names, task_runs) for each in task_runs),
            "artifacts": _artifacts(client, [each.id for each in family]),
            "logs": sorted(map(_line(names), logs)),
        }


def _finished(given: Any) -> Any:
    if iscoroutine(given):
        return asyncio.run(_awaited(given))
    if isgenerator(given):
        return list(given)
    if isasyncgen(given):
        return asyncio.run(_collected(given))
    return given


async def _awaited(given: Any) -> Any:
    return await given


async def _collected(given: Any) -> list[Any]:
    return [each async for each in given]


def _plain(value: Any) -> Any:
    """States without their ids and times; exceptions that can be compared."""
    if isinstance(value, State):
        inside = value.result(raise_on_failure=False, _sync=True)  # type: ignore[call-overload]
        return value.name, str(value.type), _plain(inside)
    if isinstance(value, BaseException):
        return type(value).__name__, _clean(str(value))
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value


def _family(client: SyncPrefectClient, flow_run_id: Any) -> list[Any]:
    """The flow run, and the runs of its subflows."""
    if flow_run_id is None:
        return []
    found = [client.read_flow_run(flow_run_id)]
    for parent in found:
        of_parent = FlowRunFilterParentFlowRunId(any_=[parent.id])
        found += client.read_flow_runs(flow_run_filter=FlowRunFilter(parent_flow_run_id=of_parent))
    return found


def _settled(client: SyncPrefectClient, family: Sequence[Any], seen: set[str]) -> list[TaskRun]:
    """The task runs, when all that are known to have been there are there in their last state, and
    in their first: that is told by another process, and may be heard of later."""
    ids = FlowRunFilterId(any_=[each.id for each in family])
    deadline = time.monotonic() + SETTLED_SECONDS
    while True:
        found = client.read_task_runs(flow_run_filter=FlowRunFilter(id=ids)) if family else []
        ended = {str(each.id) for each in found if _is_last(each.state)}
        if time.monotonic() > deadline or (seen <= ended and _have_begun(client, ended)):
            return [each for each in found if str(each.id) in ended]
        time.sleep(0.05)


def _have_begun(client: SyncPrefectClient, task_runs: set[str]) -> bool:
    histories = map(client.read_task_run_states, map(UUID, task_runs))
    return all(any(state.is_pending() for state in history) for history in histories)


def _is_last(state: Any) -> bool:
    return state is not None and (state.is_final() or state.name == "NotReady")


def _name(task_run: TaskRun) -> str:
    return _clean(task_run.name.removesuffix(f"-{task_run.dynamic_key[:3]}"))


def _flow_run(client: SyncPrefectClient, found: Any, names: dict[str, str]) -> str:
    history = [_state(state, names) for state in client.read_flow_run_states(found.id)]
    name = names.get(found.name, found.name)
    return repr((name, sorted(found.tags), found.parameters, found.run_count, history))


def _task_run(
    client: SyncPrefectClient, found: TaskRun, names: dict[str, str], all_of_them: list[TaskRun]
) -> str:
    name_of = {each.id: _name(each) for each in all_of_them}
    inputs = {
        parameter: sorted(str(name_of.get(getattr(each, "id", None), "-")) for each in given)
        for parameter, given in found.task_inputs.items()
        if given
    }
    history = [_state(state, names) for state in client.read_task_run_states(found.id)]
    policy = found.empirical_policy
    tries = (policy.retries, policy.retry_delay, policy.retry_jitter_factor)
    return repr((_name(found), sorted(found.tags), found.run_count, tries, inputs, history))


def _state(state: Any, names: dict[str, str]) -> tuple[str, str, str]:
    return str(state.type), str(state.name), _clean(state.message or "", names)


def _artifacts(client: SyncPrefectClient, ids: Sequence[Any]) -> list[str]:
    of_these = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=list(ids)))
    return sorted(
        _clean(repr((each.key, each.type, each.description, each.data, each.task_run_id is None)))
        for each in client.read_artifacts(artifact_filter=of_these)
        if not (each.key or "").startswith(OURS)
    )


def _line(names: dict[str, str]) -> Callable[[logging.LogRecord], tuple[str, ...]]:
    def line(record: logging.LogRecord) -> tuple[str, ...]:
        source = record.name.removeprefix("prefect.").split(".")[0]
        task = str(getattr(record, "task_name", ""))
        return source, record.levelname, task, _clean(record.getMessage(), names)

    return line


def _clean(text: str, names: Mapping[str, str] = NO_NAMES) -> str:
    for name, plain in names.items():
        text = text.replace(name, plain)
    return _RANDOM.sub("<random>", text)
