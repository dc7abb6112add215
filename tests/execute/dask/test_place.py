"""A flow's plugin, which plans nothing, and those who want graphs planned on the same scheduler."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.advice import NoAdvisor
from orchestrator_core.execute.dask import OrchestratorPlugin, client, optimize
from orchestrator_core.execute.dask.plugin import FOR_FLOWS
from orchestrator_core.execute.record import RunRecord
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, layers, result, until

WRITTEN: list[RunRecord] = []


class Writer(FixedAdvisor):
    """Survives pickling: what it is told goes to `WRITTEN`."""

    def record(self, run: RunRecord) -> None:
        WRITTEN.append(run)


@pytest.fixture(autouse=True)
def nothing_written() -> None:
    WRITTEN.clear()


async def compute(c: Client, tag: str = "mine") -> None:
    graph, keys = layers(tag=tag)
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6


async def a_flow_was_here(c: Client) -> None:
    """As `orchestrator_prefect` leaves it."""
    assert await client.ensure_plugin(c, advisor=NoAdvisor())


def at_work(s: Scheduler) -> OrchestratorPlugin:
    plugin: Any = s.plugins[FOR_FLOWS]
    assert plugin.session is not None
    return plugin  # type: ignore[no-any-return]


@cluster_test()
async def test_a_block_after_a_flow_is_planned_and_recorded(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await a_flow_was_here(c)
    before = set(s.plugins), set(s.handlers), set(vars(s))
    for times in (1, 2):
        async with optimize(c, Writer()):
            await compute(c, f"block-{times}")
        assert [run.mode for run in WRITTEN] == ["planned"] * times
        assert (set(s.plugins), set(s.handlers), set(vars(s))) == before
        await compute(c, f"between-{times}")
    assert len(WRITTEN) == 2


@cluster_test()
async def test_a_plugin_registered_after_a_flow_plans_until_it_is_removed(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await a_flow_was_here(c)
    await c.register_plugin(OrchestratorPlugin(advisor=Writer()))
    assert await client.wait_ready(c)
    await compute(c)
    await until(lambda: len(WRITTEN) == 1)
    async with optimize(c, Writer()):  # it stays for the one who has put it there for good
        pass
    await compute(c, "again")
    await until(lambda: len(WRITTEN) == 2)
    await c.unregister_scheduler_plugin("orchestrator")
    assert FOR_FLOWS in s.plugins
    await compute(c, "afterwards")
    assert len(WRITTEN) == 2
    assert await client.fetch_mode(c) == "director"


@cluster_test()
async def test_a_flow_in_a_block_finds_its_plugin_and_stays_out_of_it(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await a_flow_was_here(c)
    async with optimize(c, Writer()):
        assert not await client.ensure_plugin(c, advisor=NoAdvisor())
        await client.begin(c, "flow", [("x", "x", "kind")])
        assert await c.submit(abs, -1, key="x") == 1
    assert [each.key for each in await client.records(c, "flow")] == ["x"]
    assert at_work(s).place.lender is None  # type: ignore[union-attr]


@cluster_test()
async def test_what_is_enabled_in_a_block_stays(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await a_flow_was_here(c)
    assert await client.ensure_plugin(c, advisor=Writer())
    assert not await client.ensure_plugin(c, advisor=Writer())
    async with optimize(c, Writer()):
        pass
    await compute(c)
    await until(lambda: len(WRITTEN) == 1)
    assert await client.remove_plugin(c)
    assert not {FOR_FLOWS, "orchestrator"} & set(s.plugins)


@cluster_test()
async def test_runs_that_are_open_when_the_block_ends_are_recorded(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await a_flow_was_here(c)

    def waits(x: int) -> int:
        Event("go").wait()
        return x

    async with optimize(c, Writer()):
        graph: dict[Any, Any] = {
            "quick": (abs, -1),
            "slow": (waits, "quick"),
            "last": (abs, "slow"),
        }
        futures = c.get(graph, list(graph), sync=False)
        assert await futures[0] == 1
    await Event("go").set()
    await c.gather(futures)
    assert [run.status for run in WRITTEN] == ["cancelled"]


@cluster_test()
async def test_what_a_lost_client_lent_is_given_back(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_flow_was_here(c)
    monkeypatch.setattr("orchestrator_core.execute.dask.plugin.LOST_SECONDS", 0.0)
    async with Client(s.address, asynchronous=True) as other:
        await optimize(other, Writer()).__aenter__()
        assert at_work(s).place.lender is not None  # type: ignore[union-attr]
    await until(lambda: at_work(s).place.lender is None)  # type: ignore[union-attr]


@cluster_test()
async def test_what_cannot_be_used_is_not_lent(
    c: Client, s: Scheduler, a: Worker, b: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    await a_flow_was_here(c)
    broken = OrchestratorPlugin(advisor=Writer())
    broken.offer = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    assert not at_work(s).is_lent(broken)
    assert "cannot be used" in caplog.text
    assert at_work(s).is_lent(OrchestratorPlugin(advisor=Writer()))
