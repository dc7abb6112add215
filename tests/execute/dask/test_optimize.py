"""`optimize` around Dask work: planned inside the block, gone after it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from dask.delayed import delayed
from distributed import Client, Scheduler, Worker
from distributed.client import ClosedClientError

from orchestrator_core.errors import InvalidInput, OrchestratorError
from orchestrator_core.execute.dask import OrchestratorPlugin, client, optimize
from orchestrator_core.execute.dask.plugin import FOR_BLOCKS
from orchestrator_core.execute.record import RunRecord
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, layers, result, start, stop, until

WRITTEN: list[RunRecord] = []


class Writer(FixedAdvisor):
    """Survives pickling: what it is told goes to `WRITTEN`."""

    def record(self, run: RunRecord) -> None:
        WRITTEN.append(run)


def advisor_for_store(store: str | None) -> Writer:
    assert store == "somewhere.db"
    return Writer()


@pytest.fixture(autouse=True)
def nothing_written() -> None:
    WRITTEN.clear()


def test_what_is_no_client_is_refused_at_once() -> None:
    nobody: Any
    for nobody in (None, "tcp://scheduler:8786"):
        with pytest.raises(TypeError, match=r"takes a distributed\.Client, not a"):
            optimize(nobody)


@cluster_test()
async def test_an_asynchronous_client_wants_async_with(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.raises(TypeError, match='write "async with'), optimize(c, Writer()):
        pass
    assert FOR_BLOCKS not in s.plugins


@cluster_test()
async def test_a_client_that_is_closed_leaves_its_block_quietly_and_enters_none(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator_core.execute.dask.plugin.LOST_SECONDS", 0.0)
    other = await Client(s.address, asynchronous=True)
    async with optimize(other, Writer()):
        assert await other.submit(abs, -1) == 1
        await other.close()
    await until(lambda: FOR_BLOCKS not in s.plugins)
    with pytest.raises(ClosedClientError, match="is closed: optimize needs one that is not"):
        await optimize(other, Writer()).__aenter__()


def test_so_does_one_that_is_not_asynchronous() -> None:
    with Client(processes=False, n_workers=1, dashboard_address=":0") as other:
        with optimize(other, Writer(), ready_seconds=0):
            assert other.submit(abs, -1).result() == 1
            other.close()
        with pytest.raises(ClosedClientError), optimize(other, Writer()):
            pass


@pytest.mark.parametrize("goes_wrong", [False, True])
@cluster_test(nthreads=[])
async def test_a_scheduler_that_is_gone_is_left_with_what_went_wrong_inside(
    c: Client, s: Scheduler, goes_wrong: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The block is told of its own error, not of the scheduler that cannot be asked any more; where
    there is none, it ends as ever."""
    raised = None
    async with Client(s.address, asynchronous=True, timeout=0.5) as other:
        try:
            async with optimize(other, Writer(), ready_seconds=0):
                await s.close()
                if goes_wrong:
                    raise KeyError("column")
        except Exception as error:
            raised = error
    assert repr(raised) == ("KeyError('column')" if goes_wrong else "None")
    assert "the scheduler is gone, and there is nothing to leave" in caplog.text


@cluster_test()
async def test_work_inside_the_block_is_planned_and_recorded(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    before = set(vars(s)), set(s.handlers), set(s.plugins)
    async with optimize(c, Writer()):
        assert FOR_BLOCKS in s.plugins
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert (set(vars(s)), set(s.handlers), set(s.plugins)) == before
    (run,) = WRITTEN
    assert run.mode == "planned"
    assert len(run.tasks) == 18


@pytest.mark.parametrize("store", ["somewhere.db", Path("somewhere.db")])
@cluster_test(config={"orchestrator.advisor": f"{__name__}:advisor_for_store"})
async def test_a_store_is_handed_to_the_configured_advisor(
    c: Client, s: Scheduler, a: Worker, b: Worker, store: str | Path
) -> None:
    WRITTEN.clear()
    async with optimize(c, store):
        values = [delayed(sum)([i, 1], dask_key_name=f"sum-{i}") for i in range(9)]
        total = delayed(sum)(values, dask_key_name="total-0")
        assert await c.compute(total, optimize_graph=False) == 45
    (run,) = WRITTEN
    assert (run.mode, run.flow) == ("planned", "sum+total")


def ours(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "orchestrator.dask"]


class Compiling(Writer):
    """Its machine compiles for as long as anybody likes, or only loads what is there."""

    holdup = "what plans is being compiled"

    def __init__(self) -> None:
        super().__init__()
        self.done = Event()

    def warm_up(self) -> None:
        self.done.wait()


@cluster_test()
async def test_a_machine_that_compiles_is_told_of_and_not_waited_for(
    c: Client,
    s: Scheduler,
    a: Worker,
    b: Worker,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(client, "HELD_UP_SECONDS", 0.01)
    advisor = Compiling()
    plugin = OrchestratorPlugin(advisor=advisor)
    await s.register_scheduler_plugin(plugin, idempotent=True)
    async with optimize(c):
        assert ours(caplog) == [f"graphs are left to Dask for now; {advisor.holdup}"]
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    advisor.done.set()
    assert await client.wait_ready(c, 10)
    assert await client.wait_willing(c) == ""
    await stop(s, plugin)
    (run,) = WRITTEN
    assert (run.mode, run.reason) == ("observed", advisor.holdup)


@cluster_test()
async def test_what_is_only_loaded_is_waited_for(
    c: Client,
    s: Scheduler,
    a: Worker,
    b: Worker,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(client, "HELD_UP_SECONDS", 0.01)
    monkeypatch.setattr(Compiling, "holdup", "")
    advisor = Compiling()
    plugin = OrchestratorPlugin(advisor=advisor)
    await s.register_scheduler_plugin(plugin, idempotent=True)
    entering = asyncio.ensure_future(optimize(c).__aenter__())
    assert not await client.wait_ready(c, 0.1)
    assert not entering.done()
    advisor.done.set()
    await entering
    assert plugin.session.advisory.is_ready
    assert ours(caplog) == []
    await stop(s, plugin)


async def never(*_: object, **__: object) -> str:
    await asyncio.Event().wait()
    raise AssertionError


@cluster_test()
async def test_who_is_stopped_while_entering_leaves_nothing_behind(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "wait_willing", never)
    entering = asyncio.ensure_future(optimize(c, Writer()).__aenter__())
    await until(lambda: FOR_BLOCKS in s.plugins)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert FOR_BLOCKS not in s.plugins


def test_nor_does_who_is_stopped_by_the_keyboard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's loop does not hear of that."""
    monkeypatch.setattr(client, "wait_willing", never)
    with Client(processes=False, n_workers=1, dashboard_address=":0") as c:
        plugins, sync, running = c.cluster.scheduler.plugins, c.sync, []

        def interrupted(call: Any, *arguments: Any) -> None:
            monkeypatch.setattr(c, "sync", sync)
            entering = call(*arguments)
            running.append(asyncio.run_coroutine_threadsafe(entering, c.loop.asyncio_loop))
            sync(until, lambda: FOR_BLOCKS in plugins)
            raise KeyboardInterrupt

        monkeypatch.setattr(c, "sync", interrupted)
        with pytest.raises(KeyboardInterrupt), optimize(c, Writer()):
            raise AssertionError
        assert FOR_BLOCKS not in plugins
        assert running[0].cancelled()


@cluster_test()
async def test_one_block_within_itself_leaves_nothing_behind(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    block = optimize(c, Writer(), ready_seconds=0)
    async with block:
        async with block:
            assert FOR_BLOCKS in s.plugins
        assert FOR_BLOCKS in s.plugins
    assert FOR_BLOCKS not in s.plugins


@cluster_test()
async def test_who_is_stopped_while_entering_again_leaves_the_block_that_is_open(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = optimize(c, Writer(), ready_seconds=0)
    async with block:
        monkeypatch.setattr(client, "enter", never)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await block.__aenter__()
        assert FOR_BLOCKS in s.plugins
    assert FOR_BLOCKS not in s.plugins


@pytest.mark.parametrize("wrong", [{"ready_seconds": "a"}, {"stop_seconds": -1}])
@cluster_test()
async def test_seconds_that_are_none_are_refused(
    c: Client, s: Scheduler, a: Worker, b: Worker, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(wrong))} is .*; give seconds >= 0"):
        optimize(c, Writer(), **wrong)


@cluster_test()
async def test_a_plugin_that_cannot_stay_is_told_of(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_welcome", lambda *_, **__: False)
    with pytest.raises(OrchestratorError, match="took the plugin off the scheduler"):
        await optimize(c, Writer()).__aenter__()
    assert FOR_BLOCKS not in s.plugins


@cluster_test()
async def test_an_error_in_the_block_leaves_nothing_behind(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with optimize(c, Writer()):
            raise KeyError("mine")
    assert FOR_BLOCKS not in s.plugins


@cluster_test()
async def test_a_plugin_that_was_there_is_used_and_stays(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    await start(s, plugin)
    async with optimize(c, Writer()):
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert s.plugins["orchestrator"] is plugin
    await stop(s, plugin)
    assert len(advisor.runs) == 1
    assert WRITTEN == []


@cluster_test()
async def test_ensuring_and_removing_the_plugin(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    assert await client.fetch_mode(c) == "off"
    assert await client.ensure_plugin(c, mode="observe", advisor=Writer())
    assert not await client.ensure_plugin(c)
    assert await client.wait_ready(c, 10)
    assert await client.fetch_mode(c) == "observe"
    assert await client.remove_plugin(c)
    assert await client.remove_plugin(c)
    assert "orchestrator" not in s.plugins


@cluster_test()
async def test_a_wrong_argument_is_refused_where_it_was_written(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    wrong: dict[str, Any] = {"min_gain": 2.0}
    with pytest.raises(ValueError, match=r"min_gain = 2.0 is no part >= 0 and < 1"):
        async with optimize(c, Writer(), **wrong):
            raise AssertionError("not reached")
    nothing: Any = 3
    with pytest.raises(InvalidInput, match="store is no text; expected a URL or a path"):
        async with optimize(c, nothing):
            raise AssertionError("not reached")
    assert await client.ensure_plugin(c, mode="observe", advisor=Writer())
    with pytest.raises(ValueError, match="mode = 'bogus' is no mode"):
        await client.ensure_plugin(c, mode="bogus")
    assert await client.remove_plugin(c)


@cluster_test()
async def test_the_plugin_leaves_with_the_last_of_several_blocks(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    async with Client(s.address, asynchronous=True) as other, optimize(c, Writer()):
        async with optimize(other, Writer()), optimize(c, Writer()):
            plugin = s.plugins[FOR_BLOCKS]
        assert s.plugins[FOR_BLOCKS] is plugin
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert FOR_BLOCKS not in s.plugins
    assert [run.mode for run in WRITTEN] == ["planned"]


@cluster_test()
async def test_who_came_first_may_leave_first(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    async with Client(s.address, asynchronous=True) as other:
        first, second = optimize(c, Writer()), optimize(other, Writer())
        await first.__aenter__()
        async with second:
            await first.__aexit__(None, None, None)
            graph, keys = layers()
            assert await other.gather(other.get(graph, keys, sync=False)) == [result()] * 6
        assert FOR_BLOCKS not in s.plugins
    assert [run.mode for run in WRITTEN] == ["planned"]


@cluster_test()
async def test_a_client_that_is_lost_keeps_the_plugin_only_for_others(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator_core.execute.dask.plugin.LOST_SECONDS", 0.0)
    async with optimize(c, Writer()):
        async with Client(s.address, asynchronous=True) as lost:
            await optimize(lost, Writer()).__aenter__()
        await until(lambda: lost.id not in s.clients)
        assert FOR_BLOCKS in s.plugins
    assert FOR_BLOCKS not in s.plugins
    before = set(vars(s)), set(s.handlers)
    async with Client(s.address, asynchronous=True) as lost:
        await optimize(lost, Writer()).__aenter__()
    await until(lambda: FOR_BLOCKS not in s.plugins)
    assert (set(vars(s)), set(s.handlers)) == before
