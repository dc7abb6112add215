"""What a scheduler's HTTP server shows while the plugin is on it; afterwards it shows nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from distributed import Client, Scheduler, Worker
from prometheus_client import CollectorRegistry
from tornado.httpclient import AsyncHTTPClient, HTTPResponse

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.watch.metrics import METRICS, SessionMetrics
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, layers, start, stop


async def fetch(s: Scheduler, path: str) -> HTTPResponse:
    url = f"http://localhost:{s.http_server.port}{path}"
    return await AsyncHTTPClient().fetch(url, raise_error=False)


async def figures(s: Scheduler) -> dict[str, float]:
    """Our figures in ``/metrics``."""
    text = (await fetch(s, "/metrics")).body.decode()
    lines = [line for line in text.splitlines() if line.startswith("orchestrator_")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@cluster_test()
async def test_the_page_needs_nothing_else(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    await start(s, plugin)
    answer = await fetch(s, "/orchestrator")
    html = answer.body.decode()
    assert answer.code == (await fetch(s, "/orchestrator/")).code == 200
    assert "</style>" in html
    assert "/*script*/" not in html
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://""", html)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    await stop(s, plugin)


@cluster_test()
async def test_the_data_are_those_of_the_run(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor(predicted=float("inf")))
    await start(s, plugin)
    empty = json.loads((await fetch(s, "/orchestrator/data.json")).body)
    assert (empty["gantt"], empty["status"]["runs"]) == (None, [])
    hostile = {"</script><b>": (add,), **{f"t-{i}": (add, "</script><b>") for i in range(7)}}
    await c.gather(c.get(hostile, list(hostile), sync=False))
    answer = await fetch(s, "/orchestrator/data.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    data = json.loads(answer.body, parse_constant=pytest.fail)
    assert data["status"]["runs"][0]["predicted"] is None, "JSON knows no infinity"
    rows = data["gantt"]["recorded"]
    assert {row[0] for row in rows} == set(hostile)
    run_id, version = data["gantt"]["run"]["run_id"], data["gantt"]["version"]
    query = f"?run={run_id}&planned=6&recorded=7&version={version}"
    more = json.loads((await fetch(s, f"/orchestrator/data.json{query}")).body)["gantt"]
    assert (len(more["planned"]), more["recorded"]) == (2, rows[7:])
    await stop(s, plugin)


@pytest.mark.parametrize("query", ["planned=-1", "recorded=x", "version=99999999999"])
@cluster_test()
async def test_nonsense_is_refused(
    c: Client, s: Scheduler, a: Worker, b: Worker, query: str
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    await start(s, plugin)
    assert (await fetch(s, f"/orchestrator/data.json?{query}")).code == 400
    unknown = json.loads((await fetch(s, "/orchestrator/data.json?run=nobody")).body)
    assert unknown["gantt"] is None
    await stop(s, plugin)


@cluster_test(
    scheduler_kwargs={"validate": True, "http_prefix": "/behind/a/proxy"},
)
async def test_the_page_stands_behind_the_prefix_of_all_pages(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    await start(s, plugin)
    assert (await fetch(s, "/behind/a/proxy/orchestrator")).code == 200
    assert (await fetch(s, "/behind/a/proxy/orchestrator/data.json")).code == 200
    assert (await fetch(s, "/orchestrator")).code == 404
    await stop(s, plugin)


@cluster_test()
async def test_nothing_is_left_when_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    applications = list(s.http_application.applications)
    for _ in range(2):
        plugin = OrchestratorPlugin(advisor=FixedAdvisor())
        await start(s, plugin)
        assert (await fetch(s, "/orchestrator")).code == 200
        assert await figures(s)
        await stop(s, plugin)
        assert (await fetch(s, "/orchestrator")).code == 404
        assert (await fetch(s, "/orchestrator/data.json")).code == 404
        assert await figures(s) == {}
        assert s.http_application.applications == applications


@cluster_test()
async def test_off_shows_nothing(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    await start(s, OrchestratorPlugin(mode="off"))
    assert (await fetch(s, "/orchestrator")).code == 404
    assert await figures(s) == {}


@cluster_test()
async def test_what_cannot_be_shown_stops_nobody(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(s, "http_application")
        plugin = OrchestratorPlugin(advisor=FixedAdvisor())
        session = await start(s, plugin)
    assert (session.mode, session.counters.faults) == ("director", 0)
    graph, keys = layers()
    await c.gather(c.get(graph, keys, sync=False))
    assert session.counters.graphs_planned == 1
    await stop(s, plugin)


@cluster_test()
async def test_the_figures_are_those_of_the_counters(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    promise: dict[str, Any] = {"default_predicted": 20.0, "planning_seconds": 0.25}
    plugin = OrchestratorPlugin(advisor=FixedAdvisor(**promise))
    session = await start(s, plugin)
    graph, keys = layers()
    await c.gather(c.get(graph, keys, sync=False))
    session.counters.moved, session.counters.hung_removed = 3, 1
    found = await figures(s)
    assert found['orchestrator_graphs_total{plan="planned"}'] == 1
    assert found['orchestrator_graphs_total{plan="observed"}'] == 0
    assert found["orchestrator_tasks_placed_total"] == 18
    assert found["orchestrator_tasks_moved_total"] == 3
    assert found["orchestrator_hung_workers_removed_total"] == 1
    assert found["orchestrator_plan_seconds_total"] == 0.25
    assert found["orchestrator_gain_predicted_seconds_total"] == 2.0
    assert (found["orchestrator_graphs_open"], found["orchestrator_withdrawn"]) == (0, 0)
    session.fault("one", RuntimeError())
    session.fault("two", RuntimeError())
    assert (await figures(s))["orchestrator_withdrawn"] == 1
    await stop(s, plugin)


@cluster_test()
async def test_schedulers_of_one_process_are_added_up(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    first = await start(s, plugin)
    async with Scheduler(dashboard_address=":0", host="127.0.0.1") as other:
        another = OrchestratorPlugin(advisor=FixedAdvisor())
        second = await start(other, another)
        first.counters.moved, second.counters.moved = 2, 5
        METRICS.add(first)
        assert (await figures(other))["orchestrator_tasks_moved_total"] == 7
    assert (await figures(s))["orchestrator_tasks_moved_total"] == 2
    await stop(s, plugin)


def test_a_registry_is_left_as_it_was() -> None:
    registry = CollectorRegistry(auto_describe=True)
    metrics, nobody = SessionMetrics(registry), object()
    metrics.remove(nobody)  # type: ignore[arg-type]
    metrics.add(nobody)  # type: ignore[arg-type]
    metrics.add(nobody)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Duplicated"):
        SessionMetrics(registry).add(nobody)  # type: ignore[arg-type]
    metrics.remove(nobody)  # type: ignore[arg-type]
    assert list(registry.collect()) == []
