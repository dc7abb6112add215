"""Many tasks that waited are let go bit by bit."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask.steer import live_tasks
from tests.execute.dask.advisors import HangingAdvisor, plugin_of
from tests.execute.dask.cluster import cluster_test, layers, result, start, stop, until

SLICE = 4
WIDTH = 18


def heard(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The keys that the scheduler is asked to decide about anew, request by request."""
    requests: list[list[Any]] = []
    original = scheduler.transitions

    def transitions(recommendations: Any, stimulus_id: str) -> None:
        if stimulus_id.startswith("orchestrator-place"):
            requests.append(list(recommendations))
        original(recommendations, stimulus_id=stimulus_id)

    monkeypatch.setattr(scheduler, "transitions", transitions)
    return requests


@cluster_test()
async def test_others_have_their_turn_while_many_are_let_go(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(live_tasks, "SLICE", SLICE)
        advisor = HangingAdvisor()
        plugin = plugin_of(advisor, plan_wait=60)
        session = await start(s, plugin)
        requests = heard(s, monkeypatch)
        graph, keys = layers(WIDTH)
        futures = c.get(graph, keys, sync=False)
        last = f"t-0-{WIDTH - 1}"
        await until(lambda: session.steering.tasks.state(last) == "no-worker")
        advisor.go.set()
        assert await c.gather(futures) == [result()] * WIDTH
        await stop(s, plugin)
    assert max(map(len, requests)) == SLICE
    let_go = [key for keys in requests for key in keys]
    assert sorted(let_go) == sorted(f"t-0-{i}" for i in range(WIDTH)), "each once"
    planned = {row.task: row.worker for row in advisor.plans[0].assignments}
    assert {record.task: record.worker for record in advisor.runs[0].tasks} == planned


@cluster_test()
async def test_whoever_leaves_lets_all_go_at_once(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(live_tasks, "SLICE", SLICE)
        plugin = plugin_of(HangingAdvisor(), plan_wait=60)
        session = await start(s, plugin)
        graph, keys = layers(WIDTH)
        futures = c.get(graph, keys, sync=False)
        await until(lambda: session.steering.tasks.state(f"t-0-{WIDTH - 1}") == "no-worker")
        s.remove_plugin(plugin.name)
        assert "no-worker" not in {s.tasks[key].state for key in graph}
        plugin.advisor.go.set()
        assert await c.gather(futures) == [result()] * WIDTH
