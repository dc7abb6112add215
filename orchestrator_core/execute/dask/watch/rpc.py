"""What clients may ask the plugin, as handlers of the scheduler's own server; plain data only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.graphs.announced import AnnouncedRun
from orchestrator_core.execute.dask.watch.status import Status
from orchestrator_core.execute.dask.watch.why import why
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.directives import Hold, Key, Slot
from orchestrator_core.execute.record import TaskRecord

PLAN_BYTES = 4_000_000
"""Announced plans that are larger are followed, not mended: to read them takes too long."""


RECORDED = tuple(each.name for each in fields(TaskRecord))
"""What is told of an execution."""


class Handlers:
    """Puts the handlers on a scheduler, and takes them off again."""

    def __init__(
        self, status: Status, remove: Callable[[float, str | None], Awaitable[bool]]
    ) -> None:
        self._session = status.session
        self._status = status
        self._remove = remove
        self._handlers: Mapping[str, Callable[..., Any]] = {
            "orchestrator_cluster": self.cluster,
            "orchestrator_prepared": self.prepared,
            "orchestrator_ready": self.ready,
            "orchestrator_begin": self.begin,
            "orchestrator_records": self.records,
            "orchestrator_end": self.end,
            "orchestrator_stop": self.stop,
            "orchestrator_status": status.picture,
            "orchestrator_gantt": self.gantt,
            "orchestrator_why": self.why,
        }

    def install(self) -> None:
        self._session.scheduler.handlers.update(self._handlers)

    def uninstall(self) -> None:
        handlers = self._session.scheduler.handlers
        for name, handler in self._handlers.items():
            if handlers.get(name) == handler:
                del handlers[name]

    def cluster(self) -> dict[str, Any]:
        """The running workers as ``Cluster`` JSON ("" if none runs), the mode, and what holds up
        planning ("" if nothing does)."""
        session = self._session
        roster = session.roster if session.is_live else Roster(session.scheduler)
        found = roster.cluster()
        text = "" if found is None else found.to_json().decode()
        return {"cluster": text, "mode": session.mode, "holdup": session.advisory.holdup}

    def prepared(self) -> dict[str, list[str]]:
        """By worker, the kinds of tasks whose setup it has behind it, such as compiling."""
        prepared = self._session.announcements.prepared
        return {worker: sorted(kinds) for worker, kinds in prepared.items()}

    async def ready(self, timeout: float) -> bool:
        """Can the advisor be asked? Waits at most `timeout` seconds for it."""
        return self._session.is_live and await self._session.advisory.wait_ready(timeout)

    def begin(
        self,
        run_id: str,
        tasks: Sequence[Sequence[str]],
        slots: Sequence[Sequence[Any]] = (),
        holds: Sequence[Sequence[Any]] = (),
        plan: bytes | None = None,
        gone: Sequence[str] = (),
        client: str = "",
    ) -> dict[str, Any]:
        """An epoch: `tasks` are (key, name, kind), `slots` (key, worker name, rank, mode) or none,
        `holds` (key, keys to be sent first, keys to be finished first, patience in seconds).

        With `plan`, a `LivePlan` as JSON of at most `PLAN_BYTES` bytes, the plan is mended while
        it is followed; a larger one is not looked at. The keys in `gone` were announced before
        and will not come after all. The run ends at the latest when `client`, a Dask client by
        its id, is gone.

        Answers with the run's start on the scheduler's clock (seconds since 1970) and the mode.

        Raises:
            InvalidInput: for rows of another form, or a slot without its task.
        """
        announced = [_task(row) for row in tasks]
        planned = dict(_slot(row) for row in slots)
        unknown = planned.keys() - {key for key, _, _ in announced}
        if unknown:
            raise InvalidInput(
                f"slots for keys that were not announced: {sorted(map(str, unknown))}"
            )
        held = dict(_hold(row) for row in holds)
        run = self._session.begin(run_id, announced, planned, held, _bounded(plan), gone, client)
        return {"started_at": run.started_at if run else 0.0, "mode": self._session.mode}

    def records(self, run_id: str) -> list[dict[str, Any]]:
        """The executions of announced tasks so far; none for a run that nobody announced."""
        run = self._session.announcements.get(run_id)
        return [] if run is None else list(_rows(run))

    def end(self, run_id: str) -> dict[str, Any]:
        """Forget the run; answers with what people are to know of it, and what others had."""
        run = self._session.announcements.get(run_id)
        self._session.announcements.end(run_id)
        if run is None:
            return {"notes": [], "others": 0.0}
        worked = self._session.worked.now(but=run.open)
        return {"notes": run.notes(), "others": run.others(worked)}

    def gantt(
        self, run_id: str | None = None, planned: int = 0, recorded: int = 0, version: int = 0
    ) -> dict[str, Any]:
        """`Status.gantt`; where there is no such run, ``missing`` says so."""
        try:
            return self._status.gantt(run_id, planned, recorded, version)
        except InvalidInput as error:
            # Raised, it would stand in the scheduler's log as if something were wrong there.
            return {"missing": str(error)}

    def why(self, key: str) -> dict[str, Any]:
        """What `why` says about the task of that key."""
        return why(self._status, key)

    async def stop(self, timeout: float, guest: str | None = None) -> bool:
        """Take the plugin off the scheduler, or with `guest` end that block, and take it off if it
        was the last; were all runs written within `timeout` seconds?"""
        return await self._remove(timeout, guest)


def _rows(run: AnnouncedRun) -> Iterable[dict[str, Any]]:
    for key, record in run.records:
        yield {
            "key": key,
            # `asdict` copies each value in turn: 40 us for each record, on the event loop.
            **{name: getattr(record, name) for name in RECORDED},
            "started_at": run.started_at + record.start,
            "ended_at": run.started_at + record.end,
        }


def _task(row: Sequence[Any]) -> tuple[Key, str, str]:
    if len(row) != 3 or not all(isinstance(entry, str) for entry in row):
        raise InvalidInput(f"a task is announced as [key, name, kind], found {row!r}")
    return row[0], row[1], row[2]


def _slot(row: Sequence[Any]) -> tuple[Key, Slot]:
    if len(row) != 4 or not isinstance(row[1], str) or not isinstance(row[2], int):
        raise InvalidInput(f"a slot is [key, worker name, rank, mode], found {row!r}")
    return row[0], Slot(row[1], row[2], int(row[3]))


def _hold(row: Sequence[Any]) -> tuple[Key, Hold]:
    if len(row) != 4 or not isinstance(row[3], (int, float)):
        raise InvalidInput(f"a hold is [key, keys sent, keys done, patience], found {row!r}")
    return row[0], Hold(frozenset(row[1]), frozenset(row[2]), float(row[3]))


def _bounded(plan: object) -> bytes | None:
    if plan is not None and not isinstance(plan, bytes):
        raise InvalidInput(f"a plan is announced as JSON in bytes, found {type(plan).__name__}")
    return plan if plan is None or len(plan) <= PLAN_BYTES else None
