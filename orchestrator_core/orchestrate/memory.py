"""Memory: the store as planning sees it. Reads that cannot fail, writes in the background."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from time import monotonic
from typing import TypeVar

from orchestrator_core.errors import UnknownRun
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Worker
from orchestrator_core.learn.estimator import fit
from orchestrator_core.learn.history_costs import HistoryCosts
from orchestrator_core.orchestrate.experience import Outcome
from orchestrator_core.orchestrate.paced import Paced
from orchestrator_core.orchestrate.scribe.desk import Desk
from orchestrator_core.orchestrate.scribe.writing import (
    Build,
    KeepFinding,
    KeepSchedule,
    Learn,
    Learned,
    Past,
    Recall,
    Speeds,
    WriteRun,
    Written,
    speeds_of,
)
from orchestrator_core.store.base import (
    RunSummary,
    ScheduleKey,
    Store,
    StoredFinding,
    StoredSchedule,
)
from orchestrator_core.store.safe import SafeStore
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_core.store.writer import BackgroundWriter

K = TypeVar("K")
V = TypeVar("V")

CLOSING_SECONDS = 10.0
"""How long `close` waits for writes that are under way."""

BUSY_SECONDS = 1.0
"""How long a look-up waits for a database that is busy."""

REMEMBERED, FINDINGS = 1000, 128
"""Schedules, and findings, that are kept in memory."""

LEARN_EVERY = 16
"""Of runs that come faster than they can be learned from, every so many are learned from at once;
the others, together with the last."""

NOTHING_LEARNED = fit(())

RECENT = 64
"""Runs that are looked at again when a process starts, or a flow."""


class Memory:
    """Learned costs and known schedules.

    Args:
        store: a `Store`, or where one is (URL or path); default: the user's own.
        in_memory: answer only from what was loaded by `refresh`; else ask the database each time.
            Nothing is learned from runs as long as nobody has asked for anything.
    """

    def __init__(self, store: Store | str | None, *, in_memory: bool) -> None:
        self._owns_store = store is None or isinstance(store, str)
        if store is None or isinstance(store, str):
            store = ScheduleStore(store, busy_seconds=BUSY_SECONDS)
        self._store = SafeStore(store)
        self._writer = BackgroundWriter()
        # Only who lives beside an event loop has reason to let another process write.
        its_own = store if in_memory and isinstance(store, ScheduleStore) else None
        self._desk = Desk(self._store, its_own)
        self._in_memory = in_memory
        self._asked = False
        self._came = 0
        self._paced = Paced(lambda: self._writer.submit(self._learn))
        self._learned = NOTHING_LEARNED
        self._fitted: dict[tuple[frozenset[str], Speeds], HistoryCosts] = {}
        self._schedules: dict[ScheduleKey, StoredSchedule] = {}
        self._findings: dict[tuple[str, str], StoredFinding] = {}
        self.found: StoredSchedule | None = None
        """What `find` has found last."""

    def refresh(self) -> Past | None:
        """Load the past; None if there is none. Waits for the database."""
        self._asked = True
        tasks = sum(line.tasks for line in self._store.runs(limit=RECENT))
        request = Recall(RECENT, REMEMBERED if self._in_memory else 0, FINDINGS)
        past: Past | None = self._desk.do(request, tasks)
        if past is not None and past.learned is not None:
            self._take(past.learned)
            # The oldest first: these are forgotten first.
            self._schedules = {each.key: each for each in reversed(past.schedules)}
            findings = reversed(past.findings)
            self._findings = {(each.graph_signature, each.crowd): each for each in findings}
        return past

    def costs(self, kinds: Collection[str], workers: Iterable[Worker]) -> HistoryCosts:
        """What earlier runs taught about these kinds, for workers like these."""
        self._asked = True
        if self._in_memory:
            return self._learned
        wanted = frozenset(kinds), speeds_of(workers)
        # What is fitted while a run is written goes with those that are forgotten then.
        fitted = self._fitted
        if wanted not in fitted:
            fitted[wanted] = self._fit(*wanted)
        return fitted[wanted]

    def _fit(self, kinds: Collection[str], speeds: Speeds) -> HistoryCosts:
        return fit(self._store.observations(kinds), dict(speeds))

    def largest(self, runs: int) -> int:
        """Tasks of the largest of so many latest runs; 0 without any."""
        return max((line.tasks for line in self._store.runs(limit=runs)), default=0)

    def latest_runs(self, flow: str, limit: int, origin: str = "") -> list[RunRecord]:
        """Of the newest so many runs of the flow, those that ended well."""
        return list(self._read(self._right(flow, limit, origin)))

    def left_to_dask(self, flow: str, graph_signature: str, limit: int) -> list[RunRecord]:
        """Of the flow's recent runs of this graph that Dask alone placed and that ended well, so
        many at most, the newest first."""
        observed = (line for line in self._right(flow, RECENT) if line.mode == "observed")
        same = (line for line in observed if line.graph_signature == graph_signature)
        return list(self._read(islice(same, limit)))

    def history(self, flow: str, origin: str = "") -> Iterator[RunRecord]:
        """Runs of the flow that ended well, the newest first, one of each graph; read one by
        one."""
        newest: dict[str, RunSummary] = {}
        for line in self._right(flow, RECENT, origin):
            newest.setdefault(line.graph_signature, line)
        return self._read(newest.values())

    def _right(self, flow: str, limit: int, origin: str = "") -> Iterator[RunSummary]:
        """Of the newest so many runs of the flow, those that ended well.

        Where its origin is known, flows of that name elsewhere are others; and where none of its
        name ran there, those that did are the same one, under the name that it had.
        """
        found = self._store.runs(flow=flow, origin=origin or None, limit=limit)
        if origin and not found:
            found = self._store.runs(origin=origin, limit=limit)
        return (line for line in found if line.status == "ok")

    def _read(self, lines: Iterable[RunSummary]) -> Iterator[RunRecord]:
        """These runs, one by one; without those that somebody has removed in the meantime."""
        for line in lines:
            with suppress(UnknownRun):
                yield self._store.run(line.run_id)

    def find(self, key: ScheduleKey) -> StoredSchedule | None:
        """The stored schedule of this key."""
        self.found = self._schedules.get(key) if self._in_memory else self._store.find(key)
        return self.found

    def find_near(self, key: ScheduleKey) -> StoredSchedule | None:
        """The last used schedule of the same tasks on the same workers at other costs."""
        any_costs = replace(key, cost_bucket="")
        if not self._in_memory:
            return self._store.find_near(key)
        # As they are now: another thread may keep one meanwhile.
        known = [each for each in list(self._schedules.values()) if each.key != key]
        near = (each for each in known if replace(each.key, cost_bucket="") == any_costs)
        return max(near, key=lambda stored: stored.used_at, default=None)

    def keep(self, stored: StoredSchedule) -> None:
        """Store a schedule, in the background."""
        if self._in_memory:
            _keep(self._schedules, stored.key, stored, REMEMBERED)
        self._writer.submit(lambda: self._desk.do(KeepSchedule(stored), len(stored.schedule)))

    def text(self, name: str) -> bytes | None:
        """What was kept under this name; asks the database."""
        return self._store.costs(name)

    def keep_text(self, name: str, text: bytes) -> None:
        """Keep a text under a name, in the background."""
        self._writer.submit(lambda: self._store.put_costs(name, text))

    def finding(self, place: tuple[str, str]) -> StoredFinding | None:
        """What was found about a graph and a crowd of workers of these digests."""
        return self._findings.get(place) if self._in_memory else self._store.finding(*place)

    def keep_finding(
        self, place: tuple[str, str], write: Callable[[], StoredFinding], tasks: int
    ) -> None:
        """Store what was found about a graph of so many tasks, written in the background."""
        self._writer.submit(lambda: self._keep_finding(place, write(), tasks))

    def _keep_finding(self, place: tuple[str, str], stored: StoredFinding, tasks: int) -> None:
        if self._in_memory:
            _keep(self._findings, place, stored, FINDINGS)
        self._desk.do(KeepFinding(stored), tasks)

    def settle(self, seconds: float) -> None:
        """Wait, `seconds` at most, until all that was remembered is written and learned from."""
        until = monotonic() + seconds
        self._writer.flush(seconds)
        self._paced.hurry()
        self._writer.flush(until - monotonic())

    def remember(self, build: Build, tasks: int, told: Callable[[Outcome | None], None]) -> None:
        """Store a run of so many tasks and learn from it, in the background; `told` how it went."""
        self._came += 1
        number = self._came
        self._writer.submit(lambda: self._write(build, tasks, told, number))

    def _write(
        self, build: Build, tasks: int, told: Callable[[Outcome | None], None], number: int
    ) -> None:
        is_last = number == self._came or number % LEARN_EVERY == 0
        wanted = self._in_memory and self._asked and is_last
        learn = wanted and self._paced.is_due()
        written: Written = self._desk.do(WriteRun(build, learn), tasks)
        told(written.outcome)
        self._fitted = {}
        if written.learned is not None:
            self._take(written.learned)
        elif wanted:
            self._paced.later()

    def _learn(self) -> None:
        """Learn from all that was written, in the background."""
        learned: Learned | None = self._desk.do(Learn(), 0)
        if learned is not None:
            self._take(learned)

    def _take(self, learned: Learned) -> None:
        self._learned = learned.costs
        self._paced.done(learned.seconds)

    def close(self) -> None:
        """Finish writing, within `CLOSING_SECONDS`."""
        self._paced.close()
        self._writer.flush(CLOSING_SECONDS)
        self._writer.close()
        self._desk.close()
        if self._owns_store:
            self._store.close()


def _keep(known: dict[K, V], key: K, value: V, most: int) -> None:
    """Keep it as the latest; of more than `most`, the oldest is forgotten."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        known.pop(next(iter(known)), None)
