"""Random graphs, plans and events on a small world: nothing is ever stuck, whatever happens.

The world does to tasks what Dask does; the follower says where they go. Whatever was planned, held,
moved, lost, failed, forgotten or asked for twice: with all workers back and time going on, every
task that somebody wants is finished, and the books agree after each step.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from orchestrator_core.execute.directives import Directive, Hold, Move, Place, Release, Slot
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.stage import Stage

WORKERS = ("alice", "bob", "carol")


class World:
    """A host that runs tasks; `sent` and `done` by key, `held` what waits for the follower."""

    def __init__(self, random: Random) -> None:
        self.random, self.follower, self.now = random, Follower(), 100.0
        self.running = set(WORKERS)
        self.number = 0
        self.inputs: dict[str, list[str]] = {}
        self.sent: dict[str, str] = {}
        self.done: dict[str, str] = {}
        self.held: set[str] = set()
        self.new_graph()

    # --- what may happen -----------------------------------------------------------------------

    def new_graph(self) -> None:
        """A graph of its own, or one that needs outputs of those that are there already."""
        for _ in range(self.random.randrange(3, 9)):
            above = self.random.sample(list(self.inputs), min(len(self.inputs), 2))
            self.number += 1
            self.inputs[f"t{self.number}"] = above
        self.plan()

    def plan(self) -> None:
        """A plan for some of what is open; as good as drawn."""
        open_keys = [key for key in self.inputs if key not in self.done]
        planned = [key for key in open_keys if self.random.random() < 0.8]
        slots = {key: Slot(self.random.choice(WORKERS), i) for i, key in enumerate(planned)}
        holds = {key: self.hold() for key in planned if self.random.random() < 0.3}
        sent = {key: worker for key, worker in self.sent.items() if key not in self.follower}
        self.carry(self.follower.planned(slots, holds, sent))

    def mend(self) -> None:
        """The plan of some keys is changed; only who goes elsewhere, or waits for such, is free."""
        slots = {
            key: Slot(self.random.choice(WORKERS), i)
            for i, key in enumerate(self.inputs)
            if key not in self.done and self.random.random() < 0.5
        }
        before = {key: slot.worker for key, slot in self.follower.slots.items()}
        at = {key: slot.worker for key, slot in slots.items()}
        moved = {key for key, worker in at.items() if before.get(key, worker) != worker}
        held = set(self.follower.to_hold)
        self.carry(self.follower.mended(slots))
        kept = set(self.follower.to_hold)
        assert kept <= held - moved
        assert moved or kept == held

    def hold(self) -> Hold:
        """Perhaps for what comes later, or never: cycles among holds are possible."""
        keys = list(self.inputs)
        return Hold(
            frozenset(self.random.sample(keys, min(len(keys), 2))),
            frozenset(self.random.sample(keys, 1)),
            patience=self.random.choice([0.5, 5.0, 50.0]),
        )

    def finish(self) -> None:
        if self.sent:
            key = self.random.choice(list(self.sent))
            self.done[key] = self.sent.pop(key)
            self.carry(self.follower.finished(key))

    def fail(self) -> None:
        """It raised; it is tried again."""
        if self.sent:
            key = self.random.choice(list(self.sent))
            del self.sent[key]
            self.carry(self.follower.failed(key))

    def lose(self) -> None:
        """A worker goes, with what it ran and what it made."""
        if len(self.running) > 1:
            worker = self.random.choice(sorted(self.running))
            self.running.discard(worker)
            self.sent = {key: w for key, w in self.sent.items() if w != worker}
            self.done = {key: w for key, w in self.done.items() if w != worker}
            self.held = {key for key in self.held if self.is_ready(key)}
            self.carry(self.follower.worker_lost(worker))

    def pause(self) -> None:
        """A worker takes no more tasks; nobody is told."""
        if len(self.running) > 1:
            self.running.discard(self.random.choice(sorted(self.running)))

    def join(self) -> None:
        worker = self.random.choice(WORKERS)
        self.running.add(worker)
        self.carry(self.follower.worker_joined(worker))

    def cancel(self) -> None:
        """Nobody wants a task that nothing else needs."""
        needed = {above for inputs in self.inputs.values() for above in inputs}
        unneeded = [key for key in self.inputs if key not in needed]
        if unneeded:
            key = self.random.choice(unneeded)
            del self.inputs[key]
            self.sent.pop(key, None)
            self.done.pop(key, None)
            self.held.discard(key)
            self.carry(self.follower.forgotten(key))

    def give_back(self) -> None:
        keys = self.random.sample(list(self.inputs), min(len(self.inputs), 2))
        self.carry(self.follower.released(keys, "the test says so"))

    def clock(self) -> None:
        """Time goes on, or the clock is set, forwards or backwards."""
        self.now += self.random.choice([0.1, 1.0, 60.0, 1e6, -3600.0])
        self.wait()

    def wait(self) -> None:
        self.carry(self.follower.waited(self.now))

    def stand_still(self) -> None:
        """Nothing runs, so that no hold is worth anything."""
        self.carry(self.follower.unheld())
        assert len(self.follower.held) == 0
        assert not self.follower.to_hold

    # --- what the host does --------------------------------------------------------------------

    def is_ready(self, key: str) -> bool:
        return all(above in self.done for above in self.inputs[key])

    def send(self) -> None:
        """Everything that is ready, and is not held, is decided about."""
        for key in list(self.inputs):
            known = key in self.sent or key in self.done or key in self.held
            if not known and self.is_ready(key):
                self.decide(key)

    def decide(self, key: str) -> None:
        answer = self.follower.decide(key, self.running, self.now)
        if answer is Stage.HELD:
            self.held.add(key)
            return
        assert answer is None or answer in self.running
        self.sent[key] = answer if isinstance(answer, str) else min(self.running)
        self.carry(self.follower.sent(key))

    def carry(self, directives: tuple[Directive, ...]) -> None:
        for directive in directives:
            match directive:
                case Place(key):
                    self.held.discard(key)  # type: ignore[arg-type]
                case Release(keys):
                    self.held.difference_update(keys)  # type: ignore[arg-type]
                case Move(key, _, slot):
                    # It may have begun, or be lost; then nobody moves it.
                    if key in self.sent and self.random.random() < 0.5:
                        assert slot.worker in WORKERS
                        self.sent[key] = slot.worker  # type: ignore[index]

    def check(self) -> None:
        assert self.follower.check() == ()
        assert self.held <= set(self.follower.held), "whoever is held will be let go"


EVENTS: list[Callable[[World], None]] = [
    World.finish,
    World.finish,
    World.finish,
    World.fail,
    World.lose,
    World.pause,
    World.join,
    World.join,
    World.cancel,
    World.give_back,
    World.clock,
    World.stand_still,
    World.plan,
    World.mend,
    World.mend,
    World.new_graph,
]


@pytest.mark.parametrize("seed", range(300))
def test_everything_that_is_wanted_is_finished(seed: int) -> None:
    random = Random(seed)
    world = World(random)
    for _ in range(40):
        world.send()
        world.check()
        if len(world.inputs) < 60:
            random.choice(EVENTS)(world)
        world.check()
    world.running = set(WORKERS)
    for _ in range(3 * len(world.inputs) + 5):
        world.send()
        world.now += 1e6
        world.wait()
        while world.sent:
            world.finish()
    assert set(world.done) == set(world.inputs)
    assert not world.held
    assert len(world.follower.held) == 0
