"""Status: the plugin's state on a running scheduler as plain data, for people and programs.

Everything that `rpc` and `page` show comes from here. It reads and changes nothing; called on the
event loop only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from distributed.metrics import time

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.watch.run_view import RunView, views
from orchestrator_core.execute.dask.watch.timeline import Timeline

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.session import Session

CHUNK = 1000
"""Rows of a kind in one answer, which takes milliseconds; who wants more asks again."""

DIGITS = 4
"""Times are told to a tenth of a millisecond."""

OpenRow = tuple[str, str, str, str, float | None]
_NUMBER = re.compile(r"(\d+)")


class Status:
    """Answers questions about a session; keeps nothing but what makes the next answer cheap."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._timelines: dict[str, Timeline] = {}

    def picture(self) -> dict[str, Any]:
        """The whole at a glance: mode, workers, runs, counters; times in seconds since 1970."""
        session, now = self.session, time()
        return {
            "now": now,
            "mode": session.mode,
            "wanted_mode": session.options.mode,
            "withdrawn": session.steering.follower.disabled,
            "withdrawn_at": session.counters.withdrawn_at,
            "holdup": session.advisory.holdup,
            "workers": self._workers(),
            "runs": [self._run(view, now) for view in self._views().values()],
            "counters": asdict(session.counters),
        }

    def gantt(
        self, run_id: str | None = None, planned: int = 0, recorded: int = 0, version: int = 0
    ) -> dict[str, Any]:
        """Plan and reality of one run, row by row; times in seconds from its start.

        Args:
            run_id: the run, or how its id begins; None for the newest.
            planned, recorded: how many rows of each the asker has already; of the plan, only if
                `version` is that of the plan in force.

        Raises:
            InvalidInput: if no such run is under way.
        """
        view, now = self.find(run_id), time()
        timeline = self.timeline(view)
        if timeline is not None and timeline.version != version:
            planned = 0
        plan = [] if timeline is None else timeline.rows(view, planned, CHUNK)
        records = view.records(recorded, CHUNK)
        return {
            "now": round(now - view.started_at, DIGITS),
            "run": self._run(view, now),
            "version": 0 if timeline is None else timeline.version,
            "planned_from": planned,
            "planned_total": 0 if timeline is None else len(timeline),
            "planned": [
                (*row[:3], round(row.start, DIGITS), round(row.end, DIGITS)) for row in plan
            ],
            "recorded_from": recorded,
            "recorded_total": view.recorded,
            "recorded": [
                (str(k), r.kind, r.worker, round(r.start, DIGITS), round(r.end, DIGITS), r.status)
                for k, r in records
            ],
            "open": self._open(view),
        }

    def find(self, run_id: str | None) -> RunView:
        """The run whose id begins so; for None the newest.

        Raises:
            InvalidInput: if there is none.
        """
        found = self._views()
        if run_id is None and found:
            return list(found.values())[-1]
        begin_so = [view for key, view in found.items() if run_id and key.startswith(run_id)]
        if not begin_so:
            which = f"run {run_id!r}" if run_id else "run"
            those = "; `status` lists those that are" if found else ""
            raise InvalidInput(f"no {which} is under way{those}")
        return begin_so[-1]

    def timeline(self, view: RunView) -> Timeline | None:
        """The plan in force with its times, or None."""
        if view.schedule is None:
            return None
        known = self._timelines.get(view.run_id)
        if known is None or known.schedule is not view.schedule:
            now = time() - view.started_at
            known = self._timelines[view.run_id] = Timeline(view.schedule, now, known, view.stored)
        return known

    def worker_of(self, address: str) -> str:
        """The name of the worker at that address."""
        return self.session.roster.name(address)

    def _views(self) -> dict[str, RunView]:
        found = dict(views(self.session))
        for gone in self._timelines.keys() - found.keys():
            del self._timelines[gone]
        return found

    def _workers(self) -> list[dict[str, Any]]:
        roster = self.session.roster
        cluster = roster.cluster()
        speeds = {w.name: w.speed for w in cluster.workers} if cluster is not None else {}
        rows = [
            {
                "name": (name := roster.name(address)),
                "kind": roster.kind(address),
                "threads": state.nthreads,
                "speed": speeds.get(name),
                "running": name in roster,
                "status": state.status.name,
                "tasks": len(state.processing),
            }
            for address, state in self.session.scheduler.workers.items()
        ]
        return sorted(rows, key=lambda row: _natural(str(row["name"])))

    def _run(self, view: RunView, now: float) -> dict[str, Any]:
        plan = view.plan
        told: dict[str, Any] = {
            "run_id": view.run_id,
            "flow": view.flow,
            "mode": view.mode,
            "reason": view.reason,
            "tasks": view.tasks,
            "done": view.done,
            "closed": view.closed,
            "started_at": view.started_at,
            "seconds": view.seconds(now),
        }
        if plan is None:
            return told
        end = view.expected_end
        if end is not None and not view.closed:
            end = max(end, told["seconds"])
        return told | {
            "predicted": plan.predicted,
            "lower_bound": plan.lower_bound,
            "default_predicted": plan.default_predicted,
            "expected_end": end,
            "late_by": None if end is None else end - plan.predicted,
            "planner": plan.planner,
            "cache": plan.cache,
            "planning_seconds": plan.planning_seconds,
        }

    def _open(self, view: RunView) -> list[OpenRow]:
        """Tasks at their workers: key, kind, worker, running, sent or held, and since when.

        Workers tell only with their heartbeats what they have begun; so a task that has begun
        within the last seconds may still count as sent.
        """
        rows = chain(self._running(view), self._sent(view), self._held(view))
        return list(islice(rows, CHUNK))

    def _running(self, view: RunView) -> Iterator[OpenRow]:
        for address, state in self.session.scheduler.workers.items():
            for task, took in state.executing.items():
                label = view.label(task.key)
                if label is not None and task in state.processing:
                    since = max(0.0, state.last_seen - took - view.started_at)
                    name = self.worker_of(address)
                    yield str(task.key), label[1], name, "running", round(since, DIGITS)

    def _sent(self, view: RunView) -> Iterator[OpenRow]:
        for address, state in self.session.scheduler.workers.items():
            worker = self.worker_of(address)
            for task in state.processing:
                label = None if task in state.executing else view.label(task.key)
                if label is not None:
                    yield str(task.key), label[1], worker, "sent", None

    def _held(self, view: RunView) -> Iterator[OpenRow]:
        follower = self.session.steering.follower
        for key in follower.held:
            label, slot = view.label(key), follower.slot(key)
            if label is not None and slot is not None:
                yield str(key), label[1], slot.worker, "held", None


def _natural(name: str) -> list[tuple[int, str]]:
    """Orders ``w-2`` before ``w-10``."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBER.split(name)]
