"""From the scheduler's transitions to `TaskRecord`s.

Only watched keys are looked at; each belongs to one ledger (a graph, or an announced run), which
bounds what it keeps. Times come from the workers, already on the scheduler's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator_core.execute.dask.worker.meter import NBYTES, PEAK, SIZE
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
        if finish == "memory":
            self._add(ledger, key, "ok", detail)
            ledger.settle(key, "ok")
        elif finish == "processing":
            self._attempts[key] = self._attempts.get(key, 0) + 1
        elif finish == "erred":
            self._add(ledger, key, "failed", detail)
            ledger.settle(key, "failed")
        elif finish == "forgotten":
            ledger.settle(key, "cancelled")
            self.unwatch((key,), ledger)

    def _add(self, ledger: Ledger, key: Key, status: str, detail: Mapping[str, Any]) -> None:
        worker = detail.get("worker")
        if worker is None:
            return  # a task that failed because its input did
        begun = ended = None
        peak: float | None = None
        nbytes, transferred = detail.get("nbytes") or 0, 0.0
        for span in detail.get("startstops") or ():
            action = span["action"]
            if action == "compute":
                begun, ended = begun or span["start"], span["stop"]
                peak = span.get(PEAK)
                nbytes = span.get(SIZE, nbytes)
            elif action == "transfer":
                transferred += self._transfer(worker, span)
        if begun is None or ended is None:
            return  # scattered data
        name, kind = ledger.label(key)
        place, place_kind = self._roster.identity(worker)
        # Clocks of different machines agree only roughly.
        start = begun - ledger.started_at
        end = ended - ledger.started_at
        if start < 0.0:
            start = 0.0
        if end < start:
            end = start
        attempt = self._attempts.get(key, 1)
        # By position, which takes half the time: this is done for each task.
        record = TaskRecord(
            name,
            kind,
            place,
            place_kind,
            start,
            end,
            float(nbytes),
            transferred,
            attempt,
            peak,
            status,
        )
        ledger.add(key, record)

    def _transfer(self, worker: str, span: Mapping[str, Any]) -> float:
        """Seconds of a transfer, which the roster's links learn from."""
        seconds = max(0.0, span["stop"] - span["start"])
        nbytes, source = span.get(NBYTES), span.get("source")
        if nbytes is not None and source is not None:
            self._roster.transferred(source, worker, nbytes, seconds)
        return float(seconds)
