"""Many tasks that waited are let go bit by bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.dask.steer import live_tasks
from tests.execute.dask.advisors import HangingAdvisor, plugin_of
from tests.execute.dask.cluster import cluster_test, layers, result, start, stop, until, wait_for

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


ROOTS, FOUR = 40, [("127.0.0.1", 1)] * 4


@cluster_test(
    nthreads=FOUR,
    config={
        "distributed.scheduler.worker-saturation": float("inf"),
        "distributed.scheduler.work-stealing": False,
    },
)
async def test_neighbours_that_waited_for_no_plan_are_together_as_ever(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    """Without queues, Dask deals out the first tasks of a graph in as many parts as there are
    workers, as long as it sees that more are to come. Found by Dask's own tests."""
    plugin = plugin_of(HangingAdvisor(), plan_wait=60)
    session = await start(s, plugin)
    keys = [("root", i) for i in range(ROOTS)]
    futures = c.get(dict.fromkeys(keys, (wait_for, "go")), keys, sync=False)
    await until(lambda: session.steering.tasks.state(keys[-1]) == "no-worker")
    s.remove_plugin(plugin.name)
    plugin.advisor.go.set()
    places = [s.tasks[key].processing_on for key in sorted(keys, key=lambda k: s.tasks[k].priority)]
    assert sum(one is not next_ for one, next_ in pairwise(places)) == len(FOUR) - 1
    await Event("go").set()
    assert await c.gather(futures) == [1] * ROOTS
