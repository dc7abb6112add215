"""What is known of a run by what moved is what would be found if every task were asked for."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator_core.execute.dask.graphs.stored import Stored
from orchestrator_core.execute.dask.plans.progress import Progress
from orchestrator_core.execute.live import Execution

STATES = ("released", "waiting", "processing", "queued", "no-worker", "memory", "erred")
KEYS = [f"k{i}" for i in range(12)]


class World:
    """A scheduler's tasks and the run that has announced them, both made up."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.tasks: dict[str, Any] = {}
        self.run: Any = SimpleNamespace(
            snapshot=SimpleNamespace(
                stored={},
                there={},
                keys=KEYS,
                names=[f"name of {key}" for key in KEYS],
                place={key: place for place, key in enumerate(KEYS)},
            ),
            ended=[],
            coming=set(KEYS),
        )
        self.progress = Progress(self.run)

    def event(self) -> None:
        """Some task arrives, moves, ends, is forgotten, or will not come after all."""
        key = self.dice.choice(KEYS)
        kind = self.dice.choice(("move", "move", "move", "end", "forget", "withdraw"))
        if kind == "withdraw":
            # Nobody tells of that.
            self.run.coming.discard(key)
            return
        if kind == "forget":
            self.tasks.pop(key, None)
        else:
            self.run.coming.discard(key)
            state = "memory" if kind == "end" else self.dice.choice(STATES)
            self.tasks[key] = SimpleNamespace(key=key, state=state)
            if kind == "end":
                worker = self.dice.choice("ab")
                times = (float(len(self.run.ended)), len(self.run.ended) + 1.0)
                self.run.ended.append((key, "ok", (worker, worker), *times))
        self.progress.touch(key)


def seen(progress: Progress) -> tuple[Any, ...]:
    return progress.finished, progress.gone, progress.processing, progress.held


@pytest.mark.parametrize("seed", range(60))
def test_what_moved_is_all_that_has_to_be_asked_for(seed: int) -> None:
    world = World(seed)
    for _ in range(80):
        world.event()
        if world.dice.random() < 0.3:
            while not world.progress.catch_up(world.tasks, limit=world.dice.randint(1, 5)):
                pass
            fresh = Progress(world.run)
            assert fresh.catch_up(world.tasks)
            assert seen(world.progress) == seen(fresh)


def test_at_most_so_many_tasks_are_asked_for_at_once() -> None:
    world, asked = World(0), []
    tasks: Any = SimpleNamespace(get=lambda key: asked.append(key))
    assert not world.progress.catch_up(tasks, limit=5)
    assert not world.progress.catch_up(tasks, limit=5)
    assert len(asked) == 10
    assert world.progress.catch_up(tasks, limit=5)
    assert sorted(asked) == sorted(KEYS)


def test_only_what_moved_is_asked_for_again() -> None:
    world, asked = World(0), []
    world.run.coming.clear()
    world.progress.catch_up({})
    world.progress.touch("k3")
    tasks: Any = SimpleNamespace(get=lambda key: asked.append(key))
    assert world.progress.catch_up(tasks)
    assert asked == ["k3"]


def test_what_moves_untold_is_asked_for_every_time() -> None:
    """Its key was announced again, and belongs to another run now."""
    world = World(0)
    world.run.coming.clear()
    world.tasks["k3"] = SimpleNamespace(key="k3", state="processing")
    world.progress.catch_up(world.tasks)
    world.progress.lose("k3")
    world.tasks.pop("k3")
    world.progress.catch_up(world.tasks)
    assert "name of k3" in world.progress.gone
    assert not world.progress.processing


def test_an_output_that_was_lost_is_not_finished_until_it_is_made_again() -> None:
    world, name = World(0), "name of k1"
    world.run.coming.clear()
    task = world.tasks["k1"] = SimpleNamespace(key="k1", state="memory")
    world.run.ended.append(("k1", "ok", ("a", "a"), 0.0, 1.0))
    world.progress.catch_up(world.tasks)
    assert world.progress.finished[name].worker == "a"
    task.state = "processing"
    world.progress.touch("k1")
    world.progress.catch_up(world.tasks)
    assert name not in world.progress.finished | world.progress.held
    assert name in world.progress.processing
    task.state = "memory"
    world.run.ended.append(("k1", "ok", ("b", "b"), 2.0, 3.0))
    world.progress.catch_up(world.tasks)
    assert world.progress.finished[name].worker == "b"


def test_what_was_computed_before_is_finished_where_it_is_before_anything_begins() -> None:
    """And it is looked up who has it, as of all outputs; of what has gone nobody has."""
    world = World(0)
    world.run.snapshot.stored = {key: Stored(1e6, ("a", "b")) for key in ("x", "gone")}
    world.run.snapshot.there = {"x": "(stored) x", "gone": "(stored) gone"}
    progress = Progress(world.run)
    there = Execution("a", 0.0, 0.0)
    assert progress.finished == {"(stored) x": there, "(stored) gone": there}
    world.tasks["x"] = SimpleNamespace(key="x", state="memory")
    assert progress.catch_up(world.tasks)
    assert progress.held == {"(stored) x": world.tasks["x"]}
    assert progress.finished == {"(stored) x": there, "(stored) gone": there}
