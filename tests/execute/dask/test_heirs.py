"""Plugins that are put on a scheduler for good while others are at work there for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.advice import NoAdvisor
from orchestrator_core.execute.dask import OrchestratorPlugin, client, optimize
from orchestrator_core.execute.dask.plugin import FOR_BLOCKS, FOR_FLOWS
from orchestrator_core.execute.record import RunRecord
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, hooks, layers, result, until

WRITTEN: list[tuple[str, str]] = []
"""By whom each run was recorded, and of which flow it was."""


class Writer(FixedAdvisor):
    """Survives pickling: what it is told goes to `WRITTEN`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def record(self, run: RunRecord) -> None:
        WRITTEN.append((self.name, run.flow))


@pytest.fixture(autouse=True)
def nothing_written() -> None:
    WRITTEN.clear()


async def compute(c: Client, tag: str) -> None:
    written = len(WRITTEN)
    graph, keys = layers(tag=tag)
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await until(lambda: len(WRITTEN) > written)


def for_good(name: str) -> OrchestratorPlugin:
    return OrchestratorPlugin(advisor=Writer(name))


def is_at_work(s: Scheduler, name: str) -> bool:
    plugin: Any = s.plugins.get(name)
    return plugin is not None and plugin.session is not None


@cluster_test()
async def test_who_is_put_there_for_good_in_a_block_is_at_work_after_it(
    c: Client, s: Scheduler, a: Worker, b: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    before = hooks(s)
    async with optimize(c, Writer("block")):
        await c.register_plugin(for_good("good"))
        assert "its settings hold until it leaves" in caplog.text
        await compute(c, "within")
    await until(lambda: is_at_work(s, "orchestrator"))
    assert FOR_BLOCKS not in s.plugins
    await compute(c, "after")
    assert WRITTEN == [("block", "within"), ("good", "after")]
    await c.unregister_scheduler_plugin("orchestrator")
    assert hooks(s) == before


@cluster_test()
async def test_nor_is_it_forgotten_where_a_flow_has_been(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await client.ensure_plugin(c, advisor=NoAdvisor())
    async with optimize(c, Writer("block")):
        await c.register_plugin(for_good("good"))
        await compute(c, "within")
    await compute(c, "after")
    assert WRITTEN == [("block", "within"), ("good", "after")]
    await c.unregister_scheduler_plugin("orchestrator")
    assert is_at_work(s, FOR_FLOWS)
    async with optimize(c, Writer("another")):
        await compute(c, "once more")
    assert WRITTEN[-1] == ("another", "once more")


@cluster_test()
async def test_ensuring_it_in_a_block_puts_it_there_once(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    async with optimize(c, Writer("block")):
        assert await client.ensure_plugin(c, advisor=Writer("good"))
        assert not await client.ensure_plugin(c, advisor=Writer("late"))
    await until(lambda: is_at_work(s, "orchestrator"))
    await compute(c, "after")
    assert WRITTEN == [("good", "after")]
    assert await client.remove_plugin(c)


@cluster_test()
async def test_a_flow_keeps_what_is_there_for_blocks(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    async with optimize(c, Writer("block")):
        assert not await client.ensure_plugin(c, advisor=NoAdvisor())
    assert is_at_work(s, FOR_BLOCKS)
    assert await client.remove_plugin(c)
    assert FOR_BLOCKS not in s.plugins


@cluster_test()
async def test_who_has_been_taken_off_meanwhile_does_not_come_back(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    before = hooks(s)
    async with optimize(c, Writer("block")):
        await c.register_plugin(for_good("first"))
        await c.register_plugin(for_good("second"), name="another")
        await c.unregister_scheduler_plugin("orchestrator")
    await until(lambda: is_at_work(s, "another"))
    await compute(c, "after")
    assert WRITTEN == [("second", "after")]
    assert await client.remove_plugin(c)
    assert hooks(s) == before


@cluster_test()
async def test_to_remove_the_plugin_removes_all_who_stand_by(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    before = hooks(s)
    async with optimize(c, Writer("block")):
        await c.register_plugin(for_good("good"))
        assert await client.remove_plugin(c)
        await asyncio.sleep(0)
        assert hooks(s) == before


@cluster_test()
async def test_of_two_blocks_that_come_at_once_one_brings_the_plugin(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    idle = OrchestratorPlugin(advisor=Writer("idle"))
    await client.ensure_plugin(c, advisor=Writer("good"))
    await s.register_scheduler_plugin(idle, name=FOR_BLOCKS, idempotent=True)
    async with optimize(c, Writer("block")):
        assert FOR_BLOCKS not in s.plugins
    await compute(c, "after")
    assert WRITTEN == [("good", "after")]
    assert await client.remove_plugin(c)
