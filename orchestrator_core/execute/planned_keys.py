"""PlannedKeys: where each key is planned and how far it has come; the books of the follower."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator_core.execute.directives import Key, Slot
from orchestrator_core.execute.stage import FINISHED, Stage


class PlannedKeys:
    """The planned keys.

    What is open on a worker is looked for when it is asked for, which is when a worker is lost or
    comes back: books about it would have to be kept with each step of each task.

    Attributes:
        slots: where each key is planned. stages: how far it has come. Always the same mappings,
            to be read by others and changed here.
    """

    def __init__(self) -> None:
        self.slots: dict[Key, Slot] = {}
        self.stages: dict[Key, Stage] = {}

    def open_on(self, worker: str) -> tuple[Key, ...]:
        """The keys that are planned on that worker and not finished; in O(keys)."""
        return tuple(
            [
                key
                for key, slot in self.slots.items()
                if slot.worker == worker and self.stages[key] is not FINISHED
            ]
        )

    def put(self, key: Key, slot: Slot, stage: Stage) -> None:
        """The key is planned there, and has come that far."""
        self.slots[key], self.stages[key] = slot, stage

    def move(self, key: Key, stage: Stage) -> None:
        """The key, which is planned, has come that far."""
        self.stages[key] = stage

    def drop(self, key: Key) -> None:
        """The key is not planned any more."""
        if self.slots.pop(key, None) is not None:
            del self.stages[key]

    def clear(self) -> None:
        """Nothing is planned."""
        self.slots.clear()
        self.stages.clear()

    def contradictions(self) -> Iterable[str]:
        """What in the books does not agree with the rest of them."""
        if self.slots.keys() != self.stages.keys():
            yield "slots and stages speak of different keys"
