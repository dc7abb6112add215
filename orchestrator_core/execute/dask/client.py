"""The client's side of `rpc`; each function returns its result, or on an asynchronous client an
awaitable of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from orchestrator_core.errors import InvalidCluster, OrchestratorError
from orchestrator_core.execute.dask.plugin import FOR_BLOCKS, FOR_FLOWS, OrchestratorPlugin
from orchestrator_core.execute.dask.watch.rpc import PLAN_BYTES
from orchestrator_core.execute.directives import Hold, Slot
from orchestrator_core.execute.ending import Ending
from orchestrator_core.execute.live.live_plan import LivePlan
from orchestrator_core.execute.record import TaskRecord
from orchestrator_core.graph.cluster import Cluster

if TYPE_CHECKING:
    from distributed import Client, Scheduler

READY_SECONDS = 60.0
STOP_SECONDS = 30.0

TRIES = 3
"""How often it is put on a scheduler from which others may take it off meanwhile."""

HELD_UP_SECONDS = 3.0
"""How long somebody waits at first who does not want to wait for minutes."""


@dataclass(frozen=True, slots=True)
class KeyedRecord:
    """One execution of an announced task.

    Attributes:
        key: Dask's name of the task.
        record: what happened; times in seconds from the run's first `begin`.
        started_at, ended_at: the same times in seconds since 1970, on the scheduler's clock.
    """

    key: str
    record: TaskRecord
    started_at: float
    ended_at: float


def ensure_plugin(client: Client, **options: Any) -> Any:
    """Put an `OrchestratorPlugin` with these options on the scheduler unless there is one.

    Returns True if it was put there now.

    Raises:
        InvalidInput: naming the option that cannot be used.
    """
    return _sync(client, _ensure_plugin, options)


def enter(client: Client, token: str, **options: Any) -> Any:
    """The same for as long as some block is open: that of this token is from now on.

    Raises:
        InvalidInput: naming the option that cannot be used.
        OrchestratorError: if others take it off each time.
    """
    return _sync(client, _enter, token, options)


def leave(client: Client, token: str, timeout: float = STOP_SECONDS) -> Any:
    """The block of this token has ended; with the last one the plugin leaves, unless it was put
    there for good. Returns whether all runs were written within `timeout` seconds, if so."""
    return _sync(client, _leave, token, timeout)


def wait_ready(client: Client, timeout: float = READY_SECONDS) -> Any:
    """Wait at most `timeout` seconds until plans can be made; returns whether they can."""
    return _sync(client, _ready, timeout)


def wait_willing(client: Client, timeout: float = READY_SECONDS) -> Any:
    """The same, but not for a machine that compiles what plans, which takes minutes.

    Returns "" once plans can be made or the time is over, else what holds them up, for people.
    """
    return _sync(client, _willing, timeout)


def fetch_mode(client: Client) -> Any:
    """How plans are followed: "director", "restrict", "observe" or "off" (no plugin, too)."""
    return _sync(client, _fetch_mode)


def fetch_cluster(client: Client) -> Any:
    """The running workers as a `Cluster`.

    Raises:
        InvalidCluster: if no worker runs.
    """
    return _sync(client, _fetch_cluster)


def fetch_prepared(client: Client) -> Any:
    """By worker, lists of the kinds of tasks whose setup its process has behind it: it has compiled
    what they need."""
    return _sync(client, _fetch_prepared)


def begin(
    client: Client,
    run_id: str,
    tasks: Sequence[tuple[str, str, str]],
    slots: Mapping[str, Slot] | None = None,
    holds: Mapping[str, Hold] | None = None,
    plan: LivePlan | None = None,
    gone: Sequence[str] = (),
) -> Any:
    """Announce tasks (key, name, kind) that will be submitted one by one, and where they belong.

    Args:
        holds: by key, as slots are. plan: the same plan by names, in seconds from now; with it the
            scheduler mends the plan while it is followed. gone: keys that were announced before and
            will not come after all.

    Returns the start of the run, in seconds since 1970 on the scheduler's clock.
    """
    return _sync(client, _begin, run_id, tasks, slots or {}, holds or {}, plan, gone)


def records(client: Client, run_id: str) -> Any:
    """The executions of announced tasks so far, as a list of `KeyedRecord`."""
    return _sync(client, _records, run_id)


def end(client: Client, run_id: str) -> Any:
    """No more records of this run are wanted. Returns an `Ending`."""
    return _sync(client, _end, run_id)


def remove_plugin(client: Client, timeout: float = STOP_SECONDS) -> Any:
    """Take the plugin off; returns whether all runs were written within `timeout` seconds."""
    return _sync(client, _remove_plugin, timeout)


def _sync(client: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    return client.sync(call, client, *arguments)


async def _ready(client: Any, timeout: float) -> bool:
    return bool(await client.scheduler.orchestrator_ready(timeout=timeout))


async def _willing(client: Any, timeout: float) -> str:
    wait, left = HELD_UP_SECONDS, timeout
    while left > 0 and not await _ready(client, min(wait, left)):
        # Longer each time, for who is told at once that there will never be plans.
        wait, left = 2 * wait, left - wait
        # A scheduler with an older version of this project does not say.
        holdup = (await client.scheduler.orchestrator_cluster()).get("holdup")
        if holdup:
            return str(holdup)
    return ""


async def _end(client: Any, run_id: str) -> Ending:
    # A scheduler with an older version of this project answers nothing, or less.
    answer = await client.scheduler.orchestrator_end(run_id=run_id) or {}
    return Ending(tuple(answer.get("notes", ())), float(answer.get("others", 0.0)))


async def _ensure_plugin(client: Any, options: Mapping[str, Any]) -> bool:
    # What cannot be used is refused whether the plugin is there or not.
    plugin = OrchestratorPlugin(**options)
    if await client.run_on_scheduler(_keep, plugin.name != FOR_FLOWS):
        return False
    await client.register_plugin(plugin)
    return True


async def _enter(client: Any, token: str, options: Mapping[str, Any]) -> None:
    plugin = OrchestratorPlugin(**options)
    plugin.guests.decide, plugin.name = True, FOR_BLOCKS
    welcomed = partial(client.run_on_scheduler, _welcome, token, client.id, plugin)
    for _ in range(TRIES):
        if await welcomed():
            return
        await client.register_plugin(plugin)
    if not await welcomed():
        raise OrchestratorError("others took the plugin off the scheduler each time that it came")


async def _leave(client: Any, token: str, timeout: float) -> bool:
    if not await client.run_on_scheduler(_has_plugin):
        return True
    return bool(await client.scheduler.orchestrator_stop(timeout=timeout, guest=token))


async def _remove_plugin(client: Any, timeout: float) -> bool:
    if not await client.run_on_scheduler(_has_plugin):
        return True
    return bool(await client.scheduler.orchestrator_stop(timeout=timeout))


async def _fetch_mode(client: Any) -> str:
    if not await client.run_on_scheduler(_has_plugin):
        return "off"
    return str((await client.scheduler.orchestrator_cluster())["mode"])


async def _fetch_cluster(client: Any) -> Cluster:
    text = (await client.scheduler.orchestrator_cluster())["cluster"]
    if not text:
        raise InvalidCluster("no worker runs on this Dask cluster; start one, then ask again")
    return Cluster.from_json(text)


async def _fetch_prepared(client: Any) -> dict[str, list[str]]:
    return dict(await client.scheduler.orchestrator_prepared())


async def _begin(
    client: Any,
    run_id: str,
    tasks: Sequence[tuple[str, str, str]],
    slots: Mapping[str, Slot],
    holds: Mapping[str, Hold],
    plan: LivePlan | None,
    gone: Sequence[str],
) -> float:
    # What is not needed is not said: the scheduler may have an older version of this project.
    more: dict[str, Any] = {"gone": list(gone)} if gone else {}
    more["client"] = client.id
    if holds:
        more["holds"] = [[k, list(h.sent), list(h.done), h.patience] for k, h in holds.items()]
    if plan is not None and len(text := plan.to_json()) <= PLAN_BYTES:
        more["plan"] = text
    answer = await client.scheduler.orchestrator_begin(
        run_id=run_id,
        tasks=[list(task) for task in tasks],
        slots=[[key, slot.worker, slot.rank, slot.mode] for key, slot in slots.items()],
        **more,
    )
    return float(answer["started_at"])


async def _records(client: Any, run_id: str) -> list[KeyedRecord]:
    names = [field.name for field in fields(TaskRecord)]
    return [
        KeyedRecord(
            key=row["key"],
            record=TaskRecord(**{name: row[name] for name in names}),
            started_at=row["started_at"],
            ended_at=row["ended_at"],
        )
        for row in await client.scheduler.orchestrator_records(run_id=run_id)
    ]


def _has_plugin(dask_scheduler: Scheduler) -> bool:
    return _plugin_on(dask_scheduler) is not None


def _keep(plans: bool, dask_scheduler: Scheduler) -> bool:
    """Is there a plugin for good, one that plans if it is to? A flow, which does not mind who plans
    graphs, keeps one that is there for blocks."""
    if plans:
        return any(each.name == OrchestratorPlugin.name for each in _plugins_on(dask_scheduler))
    plugin = _plugin_on(dask_scheduler)
    if plugin is not None:
        plugin.guests.decide = False
    return plugin is not None


def _welcome(
    token: str, client: str, brought: OrchestratorPlugin, dask_scheduler: Scheduler
) -> bool:
    plugin = _plugin_on(dask_scheduler)
    if plugin is None:
        return False
    if dask_scheduler.plugins.get(FOR_BLOCKS) not in (None, plugin):
        # Somebody has put another one there at the same moment.
        dask_scheduler.remove_plugin(FOR_BLOCKS)
    plugin.welcome(token, client, brought)
    return True


def _plugin_on(scheduler: Scheduler) -> OrchestratorPlugin | None:
    plugins = _plugins_on(scheduler)
    at_work = (each for each in plugins if each.session is not None)
    return next(at_work, plugins[0] if plugins else None)


def _plugins_on(scheduler: Scheduler) -> list[OrchestratorPlugin]:
    return [each for each in scheduler.plugins.values() if isinstance(each, OrchestratorPlugin)]
