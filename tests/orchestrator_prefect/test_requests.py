"""What a planned flow asks of the Prefect server beyond what prefect-dask asks, request by request.

A server under a crowd of flows answers late, or 503; each request of ours adds to that.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from prefect import flow, task
from prefect.client.base import PrefectHttpxAsyncClient, PrefectHttpxSyncClient
from prefect_dask import DaskTaskRunner

from orchestrator_prefect import OptimizedTaskRunner

from .conftest import Advisor

VARIABLES, ARTIFACT = "POST /api/variables/filter", "POST /api/artifacts/"


@task
def add(x: int) -> int:
    return x + 1


def in_four_epochs() -> int:
    value = sum(each.result() for each in [add.submit(i) for i in range(3)])
    for _ in range(3):
        value = add.submit(value).result()
    return value


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Requests to the server, ids left out."""
    found: Counter[str] = Counter()
    now, later = PrefectHttpxSyncClient.send, PrefectHttpxAsyncClient.send

    def note(request: Any) -> None:
        path = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", request.url.path)
        found[f"{request.method} {path}"] += 1

    def send(self: Any, request: Any, *more: Any, **options: Any) -> Any:
        note(request)
        return now(self, request, *more, **options)

    async def send_later(self: Any, request: Any, *more: Any, **options: Any) -> Any:
        note(request)
        return await later(self, request, *more, **options)

    monkeypatch.setattr(PrefectHttpxSyncClient, "send", send)
    monkeypatch.setattr(PrefectHttpxAsyncClient, "send", send_later)
    return found


@pytest.mark.slow
def test_a_flow_asks_three_times_more_often_however_many_tasks_it_has(
    cluster: Any, advisor: Advisor, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks(runner: DaskTaskRunner) -> Counter[str]:
        made = flow(task_runner=runner, name="asks")(in_four_epochs)
        asked.clear()
        assert made() == 9
        return Counter(asked)

    stock = DaskTaskRunner(address=cluster.scheduler_address)
    asks(stock)  # The first run of a flow makes it known.
    theirs = asks(stock)
    ours = OptimizedTaskRunner(cluster=cluster, advisor=advisor)
    assert asks(ours) - theirs == {VARIABLES: 1, ARTIFACT: 1}, "watched: an outcome"
    assert asks(ours) - theirs == {VARIABLES: 1, ARTIFACT: 2}, "planned: a plan, too"
    silent = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    assert asks(silent) - theirs == {VARIABLES: 1}
    assert not asks(OptimizedTaskRunner(cluster=cluster, mode="off")) - theirs
    monkeypatch.setenv("ORCHESTRATOR_MODE", "off")
    assert not asks(ours) - theirs
