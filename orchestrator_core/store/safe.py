"""SafeStore: a store that never fails. What goes wrong costs memory, not the run.

After a failure it answers as an empty store for a while, then tries again. Where only writing
fails, as on a full disk or without the right to write, what is there is still read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import TypeVar

from orchestrator_core.costs.observation import Observation
from orchestrator_core.errors import UnknownRun
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.store.base import (
    RunSummary,
    ScheduleKey,
    Store,
    StoredFinding,
    StoredSchedule,
)

T = TypeVar("T")
RETRY_SECONDS = 60.0
"""How long a store that failed is left alone."""

READS_NOTHING = "going on without the memory of earlier runs, next try in %g s: %s"
WRITES_NOTHING = "nothing new is remembered, next try in %g s: %s"

logger = logging.getLogger(__name__)


class SafeStore:
    """A `Store` around another whose methods do not raise.

    When the inner store cannot be read, it is said once in the log, and for `retry_seconds` every
    question is answered as by an empty store and nothing is written; when it cannot be written,
    nothing is written for as long. Then the inner store is tried again.
    Whoever still asks after `close`, as a thread may, has the same answers, and nothing is said.
    Only `run` raises, and only `UnknownRun`, which is an empty store's answer.
    """

    def __init__(
        self,
        inner: Store,
        *,
        retry_seconds: float = RETRY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._off: dict[bool, float] = {}  # by "does it write?": until when that is not tried
        self._closed = False
        self.last_error: str | None = None

    @property
    def working(self) -> bool:
        """Did the last attempt succeed, as far as is known?"""
        return not self._off

    @property
    def dropped(self) -> int:
        return self._inner.dropped

    def __repr__(self) -> str:
        return f"SafeStore({self._inner!r})"

    def find(self, key: ScheduleKey) -> StoredSchedule | None:
        return self._try(lambda: self._inner.find(key), None)

    def find_near(self, key: ScheduleKey) -> StoredSchedule | None:
        return self._try(lambda: self._inner.find_near(key), None)

    def put(self, stored: StoredSchedule) -> bool:
        return self._try(lambda: self._inner.put(stored), False, writes=True)

    def schedules(
        self, *, flow: str | None = None, graph_signature: str | None = None, limit: int = 100
    ) -> list[StoredSchedule]:
        return self._try(
            lambda: self._inner.schedules(flow=flow, graph_signature=graph_signature, limit=limit),
            [],
        )

    def add_run(self, run: RunRecord) -> None:
        self._try(lambda: self._inner.add_run(run), None, writes=True)

    def run(self, run_id: str) -> RunRecord:
        found = self._try(lambda: self._run_or_reason(run_id), None)
        if isinstance(found, RunRecord):
            return found
        raise found or UnknownRun(
            f"no run {run_id!r}: the store cannot be read ({self.last_error})"
        )

    def runs(
        self, *, flow: str | None = None, origin: str | None = None, limit: int = 50
    ) -> list[RunSummary]:
        return self._try(lambda: self._inner.runs(flow=flow, origin=origin, limit=limit), [])

    def latest_run(self, flow: str, origin: str | None = None) -> RunRecord | None:
        return self._try(lambda: self._inner.latest_run(flow, origin), None)

    def clusters(self, *, limit: int = 10) -> list[Cluster]:
        return self._try(lambda: self._inner.clusters(limit=limit), [])

    def kinds(self) -> list[str]:
        return self._try(self._inner.kinds, [])

    def observations(self, kinds: Collection[str], limit_per_kind: int = 2000) -> list[Observation]:
        return self._try(lambda: self._inner.observations(kinds, limit_per_kind), [])

    def put_costs(self, name: str, text: bytes) -> None:
        self._try(lambda: self._inner.put_costs(name, text), None, writes=True)

    def costs(self, name: str) -> bytes | None:
        return self._try(lambda: self._inner.costs(name), None)

    def put_finding(self, found: StoredFinding) -> None:
        self._try(lambda: self._inner.put_finding(found), None, writes=True)

    def finding(self, graph_signature: str, crowd: str) -> StoredFinding | None:
        return self._try(lambda: self._inner.finding(graph_signature, crowd), None)

    def findings(self, *, limit: int = 100) -> list[StoredFinding]:
        return self._try(lambda: self._inner.findings(limit=limit), [])

    def close(self) -> None:
        try:
            self._inner.close()
        except Exception as error:
            self._failed(error)
        finally:
            self._closed = True

    def _run_or_reason(self, run_id: str) -> RunRecord | UnknownRun:
        try:
            return self._inner.run(run_id)
        except UnknownRun as error:
            return error

    def _try(self, question: Callable[[], T], empty: T, *, writes: bool = False) -> T:
        if self._is_off(writes):
            return empty
        try:
            answer = question()
        except Exception as error:
            self._failed(error, writes=writes)
            return empty
        with self._lock:
            self._off.pop(False, None)
            if writes:
                self._off.pop(True, None)
        return answer

    def _is_off(self, writes: bool) -> bool:
        """What cannot be read is not written either."""
        with self._lock:
            asked = (False, True) if writes else (False,)
            return any(self._clock() < self._off[each] for each in asked if each in self._off)

    def _failed(self, error: Exception, *, writes: bool = False) -> None:
        with self._lock:
            first = not self._closed and writes not in self._off and False not in self._off
            self._off[writes] = self._clock() + self._retry_seconds
            self.last_error = f"{type(error).__name__}: {error}"
        if first:
            said = WRITES_NOTHING if writes else READS_NOTHING
            logger.warning(said, self._retry_seconds, self.last_error)
