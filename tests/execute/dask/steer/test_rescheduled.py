"""A task that raises `Reschedule` gets away from the worker that its plan names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client, Event, Reschedule, Scheduler, Worker, get_worker

from orchestrator_core.execute.dask.living import MANY
from orchestrator_core.execute.dask.steer.rescheduled import MESSAGE, Rescheduled
from orchestrator_core.execute.directives import Slot
from tests.execute.dask.advisors import FixedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import cluster_test, start, stop, until, wait_for


def anywhere_but(address: str, number: int) -> int:
    if get_worker().address == address:
        raise Reschedule
    return number + 1


class Counted(dict[str, None]):
    """Tasks that count how often it is asked whether one is there."""

    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)


def test_many_that_ask_take_time_in_their_number_and_the_gone_are_forgotten() -> None:
    """Each is looked for when it asks, and not all that have asked before it."""
    tasks, told = Counted(), list[Any]()
    scheduler: Any = SimpleNamespace(tasks=tasks, stream_handlers={MESSAGE: lambda key: None})
    rescheduled = Rescheduled(scheduler, told.append)
    rescheduled.install()
    keys = [f"t-{i}" for i in range(10 * MANY)]
    for key in keys:
        tasks[key] = None
        scheduler.stream_handlers[MESSAGE](key=key)
    assert told == keys
    assert tasks.asked <= 5 * len(keys)
    slots = dict.fromkeys([*keys, "other"], Slot("a", 1))
    assert list(rescheduled.without(slots)) == ["other"]
    tasks.clear()
    for key in (f"u-{i}" for i in range(20 * MANY)):
        tasks[key] = None
        scheduler.stream_handlers[MESSAGE](key=key)
        del tasks[key]
    assert len(rescheduled._keys) <= 2 * MANY


@pytest.mark.parametrize("mode", ["director", "restrict"])
@cluster_test(nthreads=[("127.0.0.1", 2), ("127.0.0.1", 1)])
async def test_it_goes_elsewhere_and_no_later_plan_sends_it_back(
    c: Client, s: Scheduler, a: Worker, b: Worker, mode: str
) -> None:
    before = dict(s.stream_handlers)
    busy = c.submit(wait_for, "go", key="busy", workers=[a.address])
    await until(lambda: "busy" in s.tasks and s.tasks["busy"].state == "processing")
    plugin = plugin_of(FixedAdvisor(all_on_first), mode=mode)
    session = await start(s, plugin)
    follower = session.steering.follower
    futures = c.get(
        {"picky": (anywhere_but, a.address, 1), "after": (wait_for, "later", "picky")},
        ["picky", "after"],
        sync=False,
    )
    assert await futures[0] == 2
    assert "picky" in b.data
    assert "picky" not in follower
    assert "after" in follower
    name = follower.slots["after"].worker
    session.steering.follow_mended({key: Slot(name, 1) for key in ("picky", "after")})
    assert "picky" not in follower
    await Event("go").set()
    await Event("later").set()
    await c.gather([busy, *futures])
    await stop(s, plugin)
    assert dict(s.stream_handlers) == before
