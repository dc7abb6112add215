"""Prefect's variables and secrets: one request at the start of a flow, and no failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prefect import flow, task
from prefect.blocks.system import Secret
from prefect.client.orchestration import SyncPrefectClient
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.variables import Variable

from orchestrator_core.settings import SETTINGS, Source, find
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.settings.flow_settings import FlowSettings
from orchestrator_prefect.settings.options import Options
from orchestrator_prefect.settings.variables import Variables, for_command_line, read_variables

from ..conftest import Advisor

SECRET = "postgresql://me:hunter2@host/plans"


@pytest.fixture
def told(prefect_server: None) -> Iterator[None]:
    """An objective, and a Secret block for the store; beside them what is none of our business."""
    Secret(value=SECRET).save("plans-db", overwrite=True)
    values = {
        "orchestrator_objective": "price",
        "orchestrator_store": "{{ prefect.blocks.secret.plans-db }}",
        "orchestratorx": "no",
        "other": "orchestrator_mode",
    }
    for name, value in values.items():
        Variable.set(name, value, overwrite=True)
    yield
    for name in values:
        Variable.unset(name)


def requests_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths that Prefect's clients ask for from now on."""
    paths: list[str] = []
    send = httpx.Client.send

    def noted(client: Any, request: httpx.Request, *args: Any, **kwargs: Any) -> Any:
        paths.append(request.url.path)
        return send(client, request, *args, **kwargs)

    monkeypatch.setattr(httpx.Client, "send", noted)
    return paths


def settings(variables: Variables) -> FlowSettings:
    return FlowSettings.of(Options(), Options(), variables)


def test_variables_and_the_secret_that_one_names(
    told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORCHESTRATOR_DB", raising=False)
    assert set(read_variables()) == {"orchestrator_objective", "orchestrator_store"}
    variables = Variables(patience=30.0)
    found = settings(variables)
    assert (found.objective, found.store, found.mode) == ("price", SECRET, "auto")
    where = find(SETTINGS["store"], [variables.source()]).where
    assert where == "Secret block plans-db"
    source = for_command_line()
    assert isinstance(source, Source)
    assert find(SETTINGS["objective"], [source]).where == "variable orchestrator_objective"


def test_a_flow_asks_once_and_not_at_all_where_it_is_switched_off(
    cluster: Any, advisor: Advisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    @task
    def one() -> int:
        return 1

    @flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False))
    def pipeline() -> int:
        return sum(future.result() for future in [one.submit() for _ in range(3)])

    paths = requests_of(monkeypatch)
    assert pipeline() == 3
    assert len([path for path in paths if "variables" in path]) == 1
    assert not [path for path in paths if "block" in path]
    monkeypatch.setenv("ORCHESTRATOR_MODE", "off")
    paths.clear()
    assert pipeline() == 3
    assert paths
    assert not [path for path in paths if "variables" in path]


@pytest.mark.parametrize("how", ["refused", "not found", "nonsense", "no such secret"])
def test_who_cannot_be_asked_is_passed_over(
    prefect_server: None, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    def answer(client: Any, method: str, path: str, **kwargs: Any) -> httpx.Response:
        request = httpx.Request(method, "http://server")
        if how == "refused":
            raise httpx.ConnectError("nobody is there", request=request)
        if how == "not found":
            httpx.Response(404, request=request).raise_for_status()
        return httpx.Response(200, text="<html>", request=request)

    if how == "no such secret":
        values = {"orchestrator_store": "{{ prefect.blocks.secret.nowhere }}"}
        variables = Variables(read=lambda: values, patience=30.0)
    else:
        monkeypatch.setattr(SyncPrefectClient, "request", answer)
        variables = Variables(patience=30.0)
    assert settings(variables) == settings(Variables(read=dict, patience=30.0))


def test_nobody_waits_for_ever() -> None:
    never = threading.Event()

    def silent() -> dict[str, Any]:
        never.wait(60)
        return {"orchestrator_objective": "price"}

    variables = Variables(read=silent, patience=0.01)
    assert settings(variables).objective == "makespan"
    never.set()


def test_the_command_line_starts_no_server() -> None:
    with temporary_settings({PREFECT_API_URL: ""}):
        assert for_command_line() is None
