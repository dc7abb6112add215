"""PlannedKeys: where each key is planned and how far it has come; the books of the follower."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from orchestrator_core.execute.directives import Key, Slot
from orchestrator_core.execute.stage import FINISHED, Stage


class PlannedKeys:
    """The planned keys.

    Attributes:
        slots: where each key is planned. stages: how far it has come. Always the same mappings,
            to be read by others and changed here.
    """

    def __init__(self) -> None:
        self.slots: dict[Key, Slot] = {}
        self.stages: dict[Key, Stage] = {}
        self._open: dict[str, dict[Key, None]] = defaultdict(dict)

    def open_on(self, worker: str) -> tuple[Key, ...]:
        """The keys that are planned on that worker and not finished."""
        return tuple(self._open.get(worker, ()))

    def put(self, key: Key, slot: Slot, stage: Stage) -> None:
        """The key is planned there, and has come that far."""
        self.drop(key)
        self.slots[key] = slot
        self.move(key, stage)

    def move(self, key: Key, stage: Stage) -> None:
        """The key has come that far; raises KeyError if it is not planned."""
        before = self.stages.get(key, FINISHED)
        self.stages[key] = stage
        if before is FINISHED and stage is not FINISHED:
            self._open[self.slots[key].worker][key] = None
        elif before is not FINISHED and stage is FINISHED:
            self._close(self.slots[key].worker, key)

    def drop(self, key: Key) -> None:
        """The key is not planned any more."""
        slot = self.slots.pop(key, None)
        if slot is not None:
            del self.stages[key]
            self._close(slot.worker, key)

    def clear(self) -> None:
        """Nothing is planned."""
        self.slots.clear()
        self.stages.clear()
        self._open.clear()

    def contradictions(self) -> Iterable[str]:
        """What in the books does not agree with the rest of them; in the order of the keys."""
        if self.slots.keys() != self.stages.keys():
            yield "slots and stages speak of different keys"
        entries = [(worker, key) for worker, keys in self._open.items() for key in keys]
        for worker, key in entries:
            slot = self.slots.get(key)
            if slot is None or slot.worker != worker:
                yield f"{key!r} is open on {worker!r}, planned for {slot and slot.worker!r}"
        finished = sum(stage is FINISHED for stage in self.stages.values())
        if len(entries) + finished != len(self.slots):
            yield f"{len(entries)} open + {finished} finished != {len(self.slots)} planned"

    def _close(self, worker: str, key: Key) -> None:
        keys = self._open.get(worker)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._open[worker]
