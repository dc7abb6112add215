"""Workers that are there but do little or nothing: paused, retiring, stopped, slow; more, fewer."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.chaos.ledger import Ledger
from tests.chaos.on_workers import say_status, set_slower
from tests.chaos.play import MODES
from tests.chaos.rig import Rig, worker_spec
from tests.chaos.stories import Strike, computed

pytestmark = pytest.mark.chaos

STEERING = ("director", "holds")
WATCHDOG = 15.0
"""Seconds that finding out about a hung worker may take."""

TTL = "3 s"


async def pause(rig: Rig, *names: Any) -> None:
    await rig.client.run(say_status, "paused", workers=[rig.address(name) for name in names])


async def go_on(rig: Rig, *names: Any) -> None:
    await rig.client.run(say_status, "running", workers=[rig.address(name) for name in names])


async def paused_for_a_while(rig: Rig) -> None:
    """What had been sent to a paused worker waits there, also with plain Dask, until it goes on."""
    victim = rig.busiest()
    await pause(rig, victim)
    await rig.watcher.more(3, within=1.0)
    await go_on(rig, victim)


async def all_paused_for_a_while(rig: Rig) -> None:
    await pause(rig, 0, 1, 2, 3)
    await rig.until(lambda: not rig.scheduler.running)
    await go_on(rig, 0, 1, 2, 3)


async def retired(rig: Rig) -> None:
    await rig.scheduler.retire_workers(names=[rig.busiest()])


async def retired_two(rig: Rig) -> None:
    await rig.scheduler.retire_workers(names=[0, 3])


async def slower(rig: Rig) -> None:
    await rig.client.run(set_slower, 10.0, workers=[rig.address(rig.busiest())])


async def slower_middle(rig: Rig) -> None:
    await rig.client.run(set_slower, 10.0, workers=[rig.address(1)])


async def scaled_up(rig: Rig) -> None:
    rig.cluster.scale(6)
    await rig.whole(6)


async def scaled_down(rig: Rig) -> None:
    rig.cluster.scale(2)
    await rig.until(lambda: len(rig.scheduler.workers) == 2)


async def scaled_down_and_up(rig: Rig) -> None:
    await scaled_down(rig)
    rig.cluster.scale(5)
    await rig.whole(5)


async def one_more_then_lost(rig: Rig) -> None:
    rig.cluster.worker_spec["late"] = worker_spec(8.0)
    await rig.cluster
    await rig.until(lambda: "late" in rig.scheduler.aliases)
    rig.send("late", signal.SIGKILL)


async def stopped_for_a_while(rig: Rig) -> None:
    victim = rig.busiest()
    rig.send(victim, signal.SIGSTOP)
    await rig.watcher.more(5, within=1.0)
    rig.send(victim, signal.SIGCONT)


STRIKES = (
    paused_for_a_while,
    all_paused_for_a_while,
    retired,
    retired_two,
    slower,
    slower_middle,
    scaled_up,
    scaled_down,
    scaled_down_and_up,
    one_more_then_lost,
    stopped_for_a_while,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strike", STRIKES, ids=lambda strike: strike.__name__)
def test_stalled_workers(ledger: Ledger, strike: Strike, mode: str) -> None:
    ledger.judge(strike.__name__, lambda rig: computed(rig, strike), mode)


async def stopped(rig: Rig) -> None:
    rig.send(rig.busiest(), signal.SIGSTOP)


@pytest.mark.parametrize("mode", MODES)
def test_stopped_workers_that_dask_gives_up(ledger: Ledger, mode: str) -> None:
    story_name = "SIGSTOP, worker-ttl"
    ledger.judge(
        story_name,
        lambda rig: computed(rig, stopped),
        mode,
        distributed__scheduler__worker_ttl=TTL,
    )


@pytest.mark.parametrize("mode", STEERING)
def test_stopped_workers_that_dask_waits_for(ledger: Ledger, mode: str) -> None:
    """Plain Dask would wait for ever: it plays the story without the fault."""
    ledger.judge(
        "SIGSTOP, no worker-ttl",
        lambda rig: computed(rig, stopped),
        mode,
        plain=computed,
        allowance=WATCHDOG,
    )


@asynccontextmanager
async def adapting(rig: Rig, minimum: int, maximum: int) -> AsyncIterator[None]:
    adaptive = rig.cluster.adapt(
        minimum=minimum, maximum=maximum, interval="100 ms", wait_count=2, target_duration="1 s"
    )
    try:
        yield
    finally:
        adaptive.stop()


async def adaptive_story(rig: Rig) -> Any:
    async with adapting(rig, 1, 6):
        return await computed(rig)


async def adaptive_twice_story(rig: Rig) -> Any:
    """All is done, workers go, and a second graph calls them back."""
    async with adapting(rig, 1, 4):
        first = await computed(rig)
        await rig.until(lambda: len(rig.scheduler.workers) == 1)
        return first, await computed(rig)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("story", [adaptive_story, adaptive_twice_story], ids=["once", "twice"])
def test_adaptive_clusters(ledger: Ledger, story: Any, mode: str) -> None:
    ledger.judge(story.__name__, story, mode)
