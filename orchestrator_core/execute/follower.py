"""What to do with planned tasks, decided without I/O (stage 4).

Events come in (planned, ready, sent, finished, worker lost ...), directives go out (place, move,
release, disable); whoever talks to the network only carries them out. It may not know Dask, clocks
or threads: who calls says what time it is.

    planned --decide--> placed --finished--> finished
     |  ^ \\               |                    |
     |  |  `--worker lost--+--> released         `--decide (computed again)--> placed
     |  `------worker joined-------'
     `--decide--> held --all that it waits for, or its patience--> planned

A slot is kept until its key is forgotten, so that an output which is lost is computed again where
it was planned. A task whose worker does not run is left to the host's own policy.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping

from orchestrator_core.execute.directives import (
    Directive,
    Disable,
    Hold,
    Key,
    Move,
    Place,
    Release,
    Slot,
)
from orchestrator_core.execute.holds import Holds
from orchestrator_core.execute.planned_keys import PlannedKeys
from orchestrator_core.execute.stage import FINISHED, HELD, PLACED, PLANNED, RELEASED, Stage

FAULT_LIMIT = 2
"""Internal faults after which the host is better off alone."""


class Follower:
    """The plan of the live keys, and how far each has come.

    No method raises for an unknown key: the host runs many tasks that nobody planned.
    """

    def __init__(self) -> None:
        self.disabled: str | None = None
        self._faults: list[str] = []
        self._keys = PlannedKeys()
        self._slots, self._stages = self._keys.slots, self._keys.stages
        self._move = self._keys.move
        self._holds = Holds()
        # Mostly nothing is held at all, and to see that must cost nothing.
        self._to_hold = self._holds.keys

    # --- questions ---------------------------------------------------------------------------

    def __contains__(self, key: object) -> bool:
        return key in self._slots

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def slots(self) -> Mapping[Key, Slot]:
        """Where each key is planned; always the same live mapping, for those who ask often."""
        return self._slots

    @property
    def stages(self) -> Mapping[Key, Stage]:
        """How far each planned key has come; always the same live mapping."""
        return self._stages

    @property
    def to_hold(self) -> Collection[Key]:
        """The keys that are to be held, ready or not; always the same live view. As long as there
        are any, events of unplanned keys matter, too."""
        return self._to_hold

    def slot(self, key: Key) -> Slot | None:
        """Where the key is planned, or None."""
        return self._slots.get(key)

    def stage(self, key: Key) -> Stage | None:
        """How far the key has come; None if it is not planned."""
        return self._stages.get(key)

    def is_placed(self, key: Key) -> bool:
        """Has the key been sent to its planned worker, and is it not finished?"""
        return self._stages.get(key) is PLACED

    def planned_worker(self, key: Key, running: Container[str]) -> str | None:
        """The worker that `decide` would name now; changes nothing."""
        slot = self._slots.get(key)
        return slot.worker if slot is not None and slot.worker in running else None

    @property
    def held(self) -> Mapping[Key, float]:
        """The ready keys that are held back now, each with the moment at which that ends."""
        return self._holds.waiting

    # --- events ------------------------------------------------------------------------------

    def planned(
        self,
        slots: Mapping[Key, Slot],
        holds: Mapping[Key, Hold] | None = None,
        sent: Mapping[Key, str] | None = None,
    ) -> tuple[Directive, ...]:
        """A plan for these keys was adopted; it replaces what was planned for them before.

        What has been sent to another worker than the one where it is planned now, is to be moved.

        Args:
            sent: the worker that a key was sent to, of those that nobody had planned before.
        """
        if self.disabled is not None:
            return ()
        for key, worker in (sent or {}).items():
            if key in slots and key not in self._slots:
                self._keys.put(key, Slot(worker, slots[key].rank), PLACED)
        for key in slots:
            self._holds.drop(key)
        directives = self._replanned(slots)
        if holds:
            kept = {key: hold for key, hold in holds.items() if key in slots}
            self._holds.add(kept, self._was_sent, self._is_done)
        return directives

    def mended(self, slots: Mapping[Key, Slot]) -> tuple[Directive, ...]:
        """The plan of these keys was changed on the way.

        As `planned`, but who was to be held still is, unless it or what it waits for goes
        elsewhere: a plan that keeps tasks back until there is room is nothing without that.
        """
        if self.disabled is not None:
            return ()
        before = self._slots
        moved = [k for k, slot in slots.items() if k in before and slot.worker != before[k].worker]
        freed = self._holds.part(moved)
        return self._replanned(slots) + self._again(freed)

    def decide(self, key: Key, running: Container[str], now: float = 0.0) -> str | Stage | None:
        """The worker that the ready task goes to now, `Stage.HELD`, or None: the host decides."""
        slot = self._slots.get(key)
        if slot is None:
            return None
        if slot.worker not in running:
            self._holds.drop(key)
            self._move(key, RELEASED)
            return None
        if self._to_hold and self._holds.begin(key, now):
            self._move(key, HELD)
            return HELD
        self._move(key, PLACED)
        return slot.worker

    def sent(self, key: Key) -> tuple[Directive, ...]:
        """A worker was told to run the task, planned or not."""
        return self._again(self._holds.sent(key)) if self._to_hold else ()

    def finished(self, key: Key) -> tuple[Directive, ...]:
        """The task has an output."""
        return self._settle(key)

    def failed(self, key: Key) -> tuple[Directive, ...]:
        """The task raised, or one of its inputs did; a retry is planned as before."""
        return self._settle(key)

    def forgotten(self, key: Key) -> tuple[Directive, ...]:
        """Nobody wants the task any more."""
        self._drop(key)
        return self._again(self._holds.done(key)) if self._to_hold else ()

    def released(self, keys: Iterable[Key], reason: str) -> tuple[Directive, ...]:
        """These keys are to be left to the host, wherever they are planned."""
        known = tuple(key for key in keys if key in self._slots)
        for key in known:
            self._drop(key)
        return (Release(known, reason),) if known else ()

    def waited(self, now: float) -> tuple[Directive, ...]:
        """Time has passed: who was held for as long as may be is held no more."""
        return self._again(self._holds.expired(now)) if self._holds else ()

    def unheld(self) -> tuple[Directive, ...]:
        """Nothing is to be held any more, be it ready now or later."""
        waiting = list(self._holds.waiting)
        self._holds.clear()
        return self._again(waiting)

    def worker_lost(self, name: str) -> tuple[Directive, ...]:
        """The worker is gone or will run nothing more: its open tasks go back to the host."""
        keys = self._keys.open_on(name)
        for key in keys:
            self._holds.drop(key)
            self._move(key, RELEASED)
        return (Release(keys, f"worker {name!r} is gone"),) if keys else ()

    def worker_joined(self, name: str) -> tuple[Directive, ...]:
        """A worker of that name runs (again): its tasks that wait are planned as before."""
        return self._again(self._keys.open_on(name), RELEASED)

    def fault(self, reason: str) -> tuple[Directive, ...]:
        """Something of ours went wrong; once is forgiven, a second time is not."""
        if self.disabled is not None:
            return ()
        self._faults.append(reason)
        if len(self._faults) < FAULT_LIMIT:
            return ()
        return self.disable("; ".join(self._faults))

    def disable(self, reason: str) -> tuple[Disable, ...]:
        """Forget the plan for good; said once, later calls say nothing."""
        if self.disabled is not None:
            return ()
        # A planned key may have been let go a moment ago, and its placing be still to come.
        keys = tuple(k for k, at in self._stages.items() if at in {PLANNED, HELD, PLACED})
        self.clear()
        self.disabled = reason
        return (Disable(reason, keys),)

    def clear(self) -> None:
        """All keys are gone at once, as when the host restarts."""
        self._keys.clear()
        self._holds.clear()

    def check(self) -> tuple[Directive, ...]:
        """Disable if the books do not agree with themselves; takes time in the number of keys."""
        wrong = next(iter(self._contradictions()), None)
        return () if wrong is None else self.disable(f"broken invariant: {wrong}")

    # --- books -------------------------------------------------------------------------------

    def _contradictions(self) -> Iterable[str]:
        yield from self._keys.contradictions()
        held = {key for key, stage in self._stages.items() if stage is HELD}
        if held != self._holds.waiting.keys():
            yield f"{len(held)} keys are held, {len(self._holds.waiting)} of them will be let go"

    def _replanned(self, slots: Mapping[Key, Slot]) -> tuple[Directive, ...]:
        directives = [self._replan(key, slot) for key, slot in slots.items()]
        return tuple([each for each in directives if each is not None])

    def _replan(self, key: Key, slot: Slot) -> Directive | None:
        before = self._slots.get(key)
        if before is None:
            self._keys.put(key, slot, PLANNED)
            return Place(key, slot)
        stage = self._stages[key]
        if stage not in (PLACED, FINISHED):
            self._keys.put(key, slot, HELD if key in self._holds.waiting else PLANNED)
            return Place(key, slot)
        self._keys.put(key, slot, stage)
        moved = stage is PLACED and slot.worker != before.worker
        return Move(key, before.worker, slot) if moved else None

    def _settle(self, key: Key) -> tuple[Directive, ...]:
        if not self._to_hold:
            if key in self._slots:
                self._move(key, FINISHED)
            return ()
        if key in self._slots:
            self._holds.drop(key)
            self._move(key, FINISHED)
        return self._again(self._holds.done(key))

    def _again(self, keys: Iterable[Key], stage: Stage = HELD) -> tuple[Directive, ...]:
        """Those of the keys that have come just that far are planned as before."""
        again = [key for key in keys if self._stages.get(key) is stage]
        for key in again:
            self._move(key, PLANNED)
        return tuple(Place(key, self._slots[key]) for key in again)

    def _was_sent(self, key: Key) -> bool:
        return self._stages.get(key, FINISHED) in (PLACED, RELEASED, FINISHED)

    def _is_done(self, key: Key) -> bool:
        return self._stages.get(key, FINISHED) is FINISHED

    def _drop(self, key: Key) -> None:
        if self._to_hold:
            self._holds.drop(key)
        self._keys.drop(key)
