"""From the scheduler's transitions to what is known of each execution.

Only watched keys are looked at; each belongs to one ledger (a graph, or an announced run), which
bounds what it keeps. Times come from the workers, already on the scheduler's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator_core.execute.dask.graphs.ended import Ended
from orchestrator_core.execute.dask.workers.noting import DEVICE, SETUP, WORK, facts_in
from orchestrator_core.execute.dask.workers.shipped.fetches import NBYTES
from orchestrator_core.execute.dask.workers.shipped.meter import PEAK, SIZE
from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.workers.roster import Roster


NOTHING_NOTED: tuple[float, float | None] = (0.0, None)


class Ledger(Protocol):
    """Where goes what happens to some keys."""

    started_at: float
    """Seconds since 1970 on the scheduler's clock; times count from there."""

    def add(self, ended: Ended) -> None:
        """A task was executed once."""
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
        self._ran: set[str] = set()

    def __contains__(self, key: object) -> bool:
        return key in self._ledgers

    def __len__(self) -> int:
        return len(self._ledgers)

    @property
    def ledgers(self) -> Mapping[Key, Ledger]:
        """The ledger of each watched key; always the same live mapping, for those who ask often."""
        return self._ledgers

    def watch(self, keys: Iterable[Key], ledger: Ledger) -> None:
        """From now on, what happens to these keys goes to `ledger`."""
        added = dict.fromkeys(keys, ledger)
        self._ledgers.update(added)
        for key in self._attempts.keys() & added if self._attempts else ():
            del self._attempts[key]

    def unwatch(self, keys: Iterable[Key], ledger: Ledger) -> None:
        """These keys are of no more interest to `ledger`."""
        ledgers, attempts = self._ledgers, self._attempts
        for key in keys:
            if ledgers.get(key) is ledger:
                del ledgers[key]
                attempts.pop(key, None)

    def has_run(self, address: str) -> bool:
        """Has the worker at that address ended a watched task since it joined?"""
        return address in self._ran

    def forget(self, address: str) -> None:
        """The worker at that address is gone."""
        self._ran.discard(address)

    def transition(self, ledger: Ledger, key: Key, finish: str, detail: Mapping[str, Any]) -> None:
        """The scheduler moved a task of `ledger`; `detail` is what it knows about that."""
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
        begun = ended = peak = work = None
        nbytes, transferred = detail.get("nbytes") or 0, 0.0
        for span in detail.get("startstops") or ():
            action = span["action"]
            if action == "compute":
                begun, ended = begun or span["start"], span["stop"]
                peak, work = span.get(PEAK), span.get(WORK)
                nbytes = span.get(SIZE, nbytes)
            elif action == "transfer":
                transferred += self._transfer(worker, span)
        if begun is None or ended is None:
            return  # scattered data
        self._ran.add(worker)
        place = self._roster.identity(worker)
        # Clocks of different machines agree only roughly.
        start = begun - ledger.started_at
        end = ended - ledger.started_at
        if start < 0.0:
            start = 0.0
        if end < start:
            end = start
        attempt = self._attempts.get(key, 1)
        metadata = detail.get("metadata")
        noted = _noted(metadata, end - start) if metadata else NOTHING_NOTED
        size, overhead = float(nbytes), None if work is None else max(0.0, end - start - work)
        measured = (peak, overhead, *noted)
        ledger.add((key, status, place, start, end, size, transferred, attempt, *measured))

    def _transfer(self, worker: str, span: Mapping[str, Any]) -> float:
        """Seconds of a transfer, which the roster's links learn from."""
        start, stop = span["start"], span["stop"]
        nbytes, source = span.get(NBYTES), span.get("source")
        if nbytes is not None and source is not None:
            self._roster.transferred(source, worker, nbytes, start, stop)
        return float(max(0.0, stop - start))


def _noted(metadata: Mapping[str, Any], seconds: float) -> tuple[float, float | None]:
    """Seconds, of these, that were no work of the task, and bytes on an accelerator, as it said."""
    facts = facts_in(metadata)
    if not facts:
        return NOTHING_NOTED
    device = facts.get(DEVICE)
    return min(float(facts.get(SETUP, 0.0)), seconds), None if device is None else float(device)
