"""What to do with planned tasks, decided without I/O (stage 4).

Events come in (planned, finished, worker lost ...), directives go out (place, release, disable);
whoever talks to the network only carries them out. It may not know Dask, clocks or threads.

    planned --decide--> placed --finished--> finished
       ^  \\                |                    |
       |   `--worker lost--+--> released         `--decide (computed again)--> placed
       `------worker joined---------'

A slot is kept until its key is forgotten, so that an output which is lost is computed again where
it was planned. A task whose worker does not run is left to the host's own policy.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

Key = Hashable
"""What the host calls a task; Dask's keys are strings, numbers and tuples of these."""

FAULT_LIMIT = 2
"""Internal faults after which the host is better off alone."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where and in which order a task is to run.

    Attributes:
        worker: name of the worker.
        rank: place in the order of starts; lower first.
        mode: position of the mode among the task's modes.
    """

    worker: str
    rank: int
    mode: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """See to it that `key` runs in `slot`."""

    key: Key
    slot: Slot


@dataclass(frozen=True, slots=True)
class Release:
    """Hand `keys` back to the host's own policy."""

    keys: tuple[Key, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Disable:
    """Undo everything and stay out of the way from now on; `keys` are placed and not finished."""

    reason: str
    keys: tuple[Key, ...] = ()


Directive = Place | Release | Disable


class Stage(Enum):
    """How far a planned task has come."""

    PLANNED = "planned"
    PLACED = "placed"
    RELEASED = "released"
    FINISHED = "finished"


class Follower:
    """The plan of the live keys, and how far each has come.

    No method raises for an unknown key: the host runs many tasks that nobody planned.
    """

    def __init__(self, fault_limit: int = FAULT_LIMIT) -> None:
        self.disabled: str | None = None
        self._fault_limit = fault_limit
        self._faults: list[str] = []
        self._slots: dict[Key, Slot] = {}
        self._stages: dict[Key, Stage] = {}
        self._open: dict[str, dict[Key, None]] = {}

    # --- questions ---------------------------------------------------------------------------

    def __contains__(self, key: object) -> bool:
        return key in self._slots

    def __len__(self) -> int:
        return len(self._slots)

    def slot(self, key: Key) -> Slot | None:
        """Where the key is planned, or None."""
        return self._slots.get(key)

    def stage(self, key: Key) -> Stage | None:
        """How far the key has come; None if it is not planned."""
        return self._stages.get(key)

    def is_placed(self, key: Key) -> bool:
        """Has the key been sent to its planned worker, and is it not finished?"""
        return self._stages.get(key) is Stage.PLACED

    def planned_worker(self, key: Key, running: Container[str]) -> str | None:
        """The worker that `decide` would name now; changes nothing."""
        slot = self._slots.get(key)
        return slot.worker if slot is not None and slot.worker in running else None

    # --- events ------------------------------------------------------------------------------

    def planned(self, slots: Mapping[Key, Slot]) -> tuple[Directive, ...]:
        """A plan for these keys was adopted; it replaces what was planned for them before."""
        if self.disabled is not None:
            return ()
        for key, slot in slots.items():
            self._drop(key)
            self._slots[key] = slot
            self._move(key, Stage.PLANNED)
        return tuple(Place(key, slot) for key, slot in slots.items())

    def decide(self, key: Key, running: Container[str]) -> str | None:
        """The worker that the ready task goes to now, or None: the host decides."""
        if key not in self._slots:
            return None
        worker = self.planned_worker(key, running)
        self._move(key, Stage.RELEASED if worker is None else Stage.PLACED)
        return worker

    def finished(self, key: Key) -> tuple[Directive, ...]:
        """The task has an output."""
        return self._settle(key)

    def failed(self, key: Key) -> tuple[Directive, ...]:
        """The task raised, or one of its inputs did; a retry is planned as before."""
        return self._settle(key)

    def forgotten(self, key: Key) -> tuple[Directive, ...]:
        """Nobody wants the task any more."""
        self._drop(key)
        return ()

    def worker_lost(self, name: str) -> tuple[Directive, ...]:
        """The worker is gone or will run nothing more: its open tasks go back to the host."""
        keys = tuple(self._open.get(name, ()))
        for key in keys:
            self._move(key, Stage.RELEASED)
        return (Release(keys, f"worker {name!r} is gone"),) if keys else ()

    def worker_joined(self, name: str) -> tuple[Directive, ...]:
        """A worker of that name runs (again): its tasks that wait are planned as before."""
        back = [k for k in self._open.get(name, ()) if self._stages[k] is Stage.RELEASED]
        for key in back:
            self._move(key, Stage.PLANNED)
        return tuple(Place(key, self._slots[key]) for key in back)

    def fault(self, reason: str) -> tuple[Directive, ...]:
        """Something of ours went wrong; once is forgiven, a second time is not."""
        if self.disabled is not None:
            return ()
        self._faults.append(reason)
        if len(self._faults) < self._fault_limit:
            return ()
        return self.disable("; ".join(self._faults))

    def disable(self, reason: str) -> tuple[Directive, ...]:
        """Forget the plan for good; said once, later calls say nothing."""
        if self.disabled is not None:
            return ()
        placed = tuple(key for key, stage in self._stages.items() if stage is Stage.PLACED)
        self.clear()
        self.disabled = reason
        return (Disable(reason, placed),)

    def clear(self) -> None:
        """All keys are gone at once, as when the host restarts."""
        self._slots.clear()
        self._stages.clear()
        self._open.clear()

    def check(self) -> tuple[Directive, ...]:
        """Disable if the books do not agree with themselves; takes time in the number of keys."""
        wrong = next(iter(self._contradictions()), None)
        return () if wrong is None else self.disable(f"broken invariant: {wrong}")

    # --- books -------------------------------------------------------------------------------

    def _contradictions(self) -> Iterable[str]:
        if self._slots.keys() != self._stages.keys():
            yield "slots and stages speak of different keys"
        entries = [(worker, key) for worker, keys in self._open.items() for key in keys]
        for worker, key in entries:
            slot = self._slots.get(key)
            if slot is None or slot.worker != worker:
                yield f"{key!r} is open on {worker!r}, planned for {slot and slot.worker!r}"
        finished = sum(stage is Stage.FINISHED for stage in self._stages.values())
        if len(entries) + finished != len(self._slots):
            yield f"{len(entries)} open + {finished} finished != {len(self._slots)} planned"

    def _settle(self, key: Key) -> tuple[Directive, ...]:
        if key in self._slots:
            self._move(key, Stage.FINISHED)
        return ()

    def _move(self, key: Key, stage: Stage) -> None:
        worker = self._slots[key].worker
        self._stages[key] = stage
        if stage is not Stage.FINISHED:
            self._open.setdefault(worker, {})[key] = None
        elif worker in self._open:
            self._close(worker, key)

    def _drop(self, key: Key) -> None:
        slot = self._slots.pop(key, None)
        if slot is not None:
            del self._stages[key]
            self._close(slot.worker, key)

    def _close(self, worker: str, key: Key) -> None:
        keys = self._open.get(worker)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._open[worker]
