"""A plan of very many tasks is put in force bit by bit: in order, and only as long as it counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from distributed.utils_test import gen_test

from orchestrator_core.execute.dask.plans import portions
from orchestrator_core.execute.dask.plans.portions import Handover, Portions, Slots
from orchestrator_core.execute.directives import Slot

RUN: Any = "run"


class Scene:
    """Seven slots in portions of three."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.said: list[Any] = []
        self.is_on = True
        self.broken: int | None = None
        self.portions = Portions(lambda where, error: self.faults.append(f"{where}: {error}"))

    def force(self, slots: Slots) -> None:
        if self.broken == len(self.said):
            raise ValueError("broken")
        self.said.append("".join(map(str, slots)))

    def put(self, tasks: int = 7) -> None:
        slots = {str(i): Slot("w", i) for i in range(tasks)}
        then = lambda: self.said.append("end")  # noqa: E731
        self.portions.put(Handover(RUN, slots, self.force, lambda: self.is_on, then))

    async def turns(self) -> list[Any]:
        """Until nothing is left for the loop to do."""
        for _ in range(10):
            await asyncio.sleep(0)
        return self.said


@pytest.fixture(autouse=True)
def by_threes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, "PORTION", 3)


@gen_test()
async def test_the_first_portion_is_in_force_at_once_and_each_other_has_its_turn() -> None:
    scene = Scene()
    scene.put()
    assert scene.said == ["012"]
    assert scene.portions.under_way == {RUN}
    await asyncio.sleep(0)
    assert scene.said == ["012", "345"], "others had their turn before the last"
    assert await scene.turns() == ["012", "345", "6", "end"]
    assert not scene.portions.under_way


@pytest.mark.parametrize("tasks", [0, 1, 3])
@gen_test()
async def test_few_are_in_force_at_once(tasks: int) -> None:
    scene = Scene()
    scene.put(tasks)
    assert scene.said == ["012"[:tasks], "end"]
    assert not scene.portions.under_way
    assert not scene.faults


@gen_test()
async def test_what_is_over_meanwhile_is_put_in_force_no_further() -> None:
    scene = Scene()
    scene.put()
    scene.is_on = False
    assert await scene.turns() == ["012", "end"]
    assert not scene.portions.under_way


@gen_test()
async def test_the_first_portion_that_fails_is_for_who_asked() -> None:
    scene = Scene()
    scene.broken = 0
    with pytest.raises(ValueError, match="broken"):
        scene.put()
    assert await scene.turns() == []
    assert not scene.portions.under_way


@gen_test()
async def test_a_later_portion_that_fails_is_a_fault_and_the_last() -> None:
    scene = Scene()
    scene.broken = 1
    scene.put()
    assert await scene.turns() == ["012", "end"]
    assert scene.faults == ["plan: broken"]
    assert not scene.portions.under_way
