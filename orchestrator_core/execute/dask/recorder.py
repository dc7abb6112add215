"""From the scheduler's transitions to `TaskRecord`s.

Only watched keys are looked at; each belongs to one ledger (a graph, or an announced run), which
bounds what it keeps. Times come from the workers, already on the scheduler's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import TaskRecord

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.roster import Roster


class Ledger(Protocol):
    """Where the records of some keys go."""

    started_at: float
    """Seconds since 1970 on the scheduler's clock; records count from there."""

    def label(self, key: Key) -> tuple[str, str]:
        """Name and kind of the task."""
        ...

    def add(self, key: Key, record: TaskRecord) -> None:
        """The task was executed once."""
        ...

    def settle(self, key: Key, status: str) -> None:
        """The task came to an end: ``ok``, ``failed`` or ``cancelled``."""
        ...


class Recorder:
    """Follows watched keys through their transitions."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._ledgers: dict[Key, Ledger] = {}
        self._attempts: dict[Key, int] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._ledgers

    def __len__(self) -> int:
        return len(self._ledgers)

    def watch(self, keys: Iterable[Key], ledger: Ledger) -> None:
        """From now on, what happens to these keys goes to `ledger`."""
        for key in keys:
            self._ledgers[key] = ledger
            self._attempts.pop(key, None)

    def unwatch(self, keys: Iterable[Key], ledger: Ledger) -> None:
        """These keys are of no more interest to `ledger`."""
        for key in keys:
            if self._ledgers.get(key) is ledger:
                del self._ledgers[key]
                self._attempts.pop(key, None)

    def transition(self, key: Key, start: str, finish: str, detail: Mapping[str, Any]) -> None:
        """The scheduler moved a task; `detail` is what it knows about that."""
        ledger = self._ledgers.get(key)
        if ledger is None:
            return
        if finish == "processing":
            self._attempts[key] = self._attempts.get(key, 0) + 1
        elif finish == "memory":
            self._add(ledger, key, "ok", detail)
            ledger.settle(key, "ok")
        elif finish == "erred":
            self._add(ledger, key, "failed", detail)
            ledger.settle(key, "failed")
        elif finish == "forgotten":
            ledger.settle(key, "cancelled")
            self.unwatch((key,), ledger)

    def _add(self, ledger: Ledger, key: Key, status: str, detail: Mapping[str, Any]) -> None:
        worker = detail.get("worker")
        computed, transferred = _times(detail.get("startstops") or ())
        if not computed or worker is None:
            return  # scattered data, or a task that failed because its input did
        name, kind = ledger.label(key)
        # Clocks of different machines agree only roughly.
        start = max(0.0, computed[0] - ledger.started_at)
        record = TaskRecord(
            task=name,
            kind=kind,
            worker=self._roster.name(worker),
            worker_kind=self._roster.kind(worker),
            start=start,
            end=max(start, computed[1] - ledger.started_at),
            nbytes=float(detail.get("nbytes") or 0.0),
            transfer_seconds=transferred,
            attempt=self._attempts.get(key, 1),
            status=status,
        )
        ledger.add(key, record)


def _times(spans: Iterable[Mapping[str, Any]]) -> tuple[tuple[float, float] | None, float]:
    """First start and last stop of computing, if there was any, and seconds of transfers."""
    computed: tuple[float, float] | None = None
    transferred = 0.0
    for span in spans:
        if span["action"] == "compute":
            computed = (computed[0] if computed else span["start"], span["stop"])
        elif span["action"] == "transfer":
            transferred += max(0.0, span["stop"] - span["start"])
    return computed, transferred
