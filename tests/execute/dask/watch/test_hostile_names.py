"""Whatever tasks and workers are called: the page on the dashboard shows it as text."""

from __future__ import annotations

import json
import re

import pytest
from distributed import Client, Scheduler, Worker
from tornado.httpclient import AsyncHTTPClient, HTTPResponse

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.watch.page import PARTS, WEB
from orchestrator_core.graph.text import as_name
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, start, stop
from tests.payloads import HTML, PATHS, PAYLOADS, SHELL, SQL, TERMINAL, UNICODE, ZERO

WORKERS = [HTML[1], SQL[0], SHELL[0], PATHS[0], TERMINAL[0], UNICODE[0], ZERO[1], "x" * 2000]


async def fetch(s: Scheduler, path: str) -> HTTPResponse:
    url = f"http://localhost:{s.http_server.port}{path}"
    return await AsyncHTTPClient().fetch(url, raise_error=False)


@cluster_test(nthreads=[("127.0.0.1", 1)])
async def test_tasks_of_such_names_on_workers_of_such_names(
    c: Client, s: Scheduler, a: Worker
) -> None:
    others = [await Worker(s.address, name=name, nthreads=1) for name in WORKERS]
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    before = (await fetch(s, "/orchestrator")).body
    graph = dict.fromkeys(PAYLOADS, (add,))
    await c.gather(c.get(graph, list(graph), sync=False))
    assert (await fetch(s, "/orchestrator")).body == before, "the page itself holds no name"
    answer = await fetch(s, "/orchestrator/data.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.body.isascii()
    data = json.loads(answer.body, parse_constant=pytest.fail)
    assert {row[0] for row in data["gantt"]["recorded"]} == set(graph)
    known = {worker["name"] for worker in data["status"]["workers"]}
    assert set(map(as_name, WORKERS)) <= known
    cluster = session.roster.cluster()
    assert cluster is not None
    assert set(map(as_name, WORKERS)) <= set(cluster.names)
    assert session.steering.follower.disabled is None
    await stop(s, plugin)
    for worker in others:
        await worker.close()


def test_what_the_page_is_told_it_shows_as_text() -> None:
    """None of its scripts reads markup, or code, out of a string."""
    for part in PARTS:
        script = (WEB / f"{part}.js").read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment"
            r"|\beval\b|new Function|setAttribute|srcdoc|\.href\b|\.src\b",
            script,
        ), part
