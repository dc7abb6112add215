"""Without a Prefect server, workers on the flow's machine use the one that the flow started."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.client.base import ServerType
from prefect.context import FlowRunContext, SettingsContext, serialize_context
from prefect.settings import PREFECT_API_URL, temporary_settings

from orchestrator_prefect.sending.context import SerializedOnce
from orchestrator_prefect.sending.temporary_server import temporary_server

SERVER = "http://127.0.0.1:8123/api"


class Client:
    """A Dask client that knows the addresses of the workers."""

    def __init__(self, *workers: str) -> None:
        self._workers = workers

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1, "all of them"
        return {"workers": dict.fromkeys(self._workers)}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """In a flow whose process has started a server for itself."""
    client = SimpleNamespace(server_type=ServerType.EPHEMERAL, api_url=SERVER)
    context = SimpleNamespace(client=client)
    monkeypatch.setattr(FlowRunContext, "get", classmethod(lambda cls: context))
    return client


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize(
    "workers", [("tcp://127.0.0.1:1", "tls://127.0.0.1:2"), ("tcp://[::1]:3",)]
)
def test_workers_here_may_use_it(workers: tuple[str, ...]) -> None:
    assert temporary_server(Client(*workers)) == SERVER


@pytest.mark.usefixtures("started")
def test_workers_under_this_machine_s_own_address_may_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("distributed.utils.get_ip", lambda: "192.0.2.7")
    assert temporary_server(Client("tcp://192.0.2.7:4", "inproc://192.0.2.7/1/2")) == SERVER


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("workers", [("tcp://127.0.0.1:1", "tcp://203.0.113.9:2"), ()])
def test_where_one_is_elsewhere_or_none_is_known_nobody_is_told(workers: tuple[str, ...]) -> None:
    assert temporary_server(Client(*workers)) is None


def test_a_server_that_others_know_too_is_named_by_the_settings(started: SimpleNamespace) -> None:
    started.server_type = ServerType.SERVER
    assert temporary_server(Client("tcp://127.0.0.1:1")) is None


@pytest.mark.usefixtures("started")
def test_a_cluster_that_does_not_answer_costs_nothing() -> None:
    assert temporary_server(object()) is None


def test_outside_of_a_flow_there_is_none() -> None:
    assert temporary_server(Client("tcp://127.0.0.1:1")) is None


def api_of(once: SerializedOnce) -> Any:
    """The server that what is sent names."""
    with once.reused():
        sent = pickle.loads(pickle.dumps(serialize_context()["settings_context"]))
    return SettingsContext(**sent).settings.api.url


def test_it_is_sent_with_the_settings() -> None:
    once = SerializedOnce()
    once.server = SERVER
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert api_of(once) == SERVER
        assert once.sent()["settings"]["api"]["url"] == SERVER  # type: ignore[index]


def test_a_server_that_was_named_stays() -> None:
    once = SerializedOnce()
    once.server = SERVER
    with temporary_settings({PREFECT_API_URL: "http://named/api"}):
        assert api_of(once) == "http://named/api"


def test_settings_without_a_server_warm_nobody_up() -> None:
    """Each worker would start one."""
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert SerializedOnce().sent() is None


FLOW = """
import time
from distributed import Nanny
from prefect import get_client, task
from orchestrator_prefect import optimized_flow

THREE = {"cls": Nanny, "options": {"nthreads": 3}}

@task
def server(i):
    with get_client(sync_client=True) as client:
        return str(client.api_url)

@optimized_flow(cluster_class="distributed.SpecCluster", cluster_kwargs={"workers": {"w": THREE}})
def three_at_a_time():
    return {future.result() for future in [server.submit(i) for i in range(6)]}

if __name__ == "__main__":
    with get_client(sync_client=True) as own:
        assert three_at_a_time() == {str(own.api_url)}
"""


@pytest.mark.timeout(400)
def test_a_worker_of_three_threads_needs_no_server_of_its_own(tmp_path: Path) -> None:
    """Each thread would start one; Prefect lets one of them succeed, and the others' tasks fail."""
    (tmp_path / "flow.py").write_text(FLOW)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    own = {"HOME": str(tmp_path), "PREFECT_HOME": str(tmp_path), "DO_NOT_TRACK": "1"}
    # Prefect's own default is 20, which a busy machine needs for the flow's server alone.
    own |= {"PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300"}
    done = subprocess.run(
        [sys.executable, "flow.py"],
        cwd=tmp_path,
        env={**plain, **own, "PREFECT_SERVER_ANALYTICS_ENABLED": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("Starting temporary server") <= 1, "in the flow's process"
