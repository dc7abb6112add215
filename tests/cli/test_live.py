"""`orchestrator live` against a real scheduler in this process, and `dask orchestrator` as well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import dask
import pytest
from distributed import Client, Event, LocalCluster
from rich.text import Text

from orchestrator_core import cli
from orchestrator_core.cli.live import gantt_view, why_view
from orchestrator_core.cli.live.status_view import COUNTED, _figures, show
from orchestrator_core.execute.dask import OrchestratorPlugin
from tests.cli.conftest import Invoke
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, layers, wait_for

NOWHERE = "tcp://127.0.0.1:9"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with (
        dask.config.set({"distributed.admin.system-monitor.gil.enabled": False}),
        LocalCluster(dashboard_address=":0", protocol="tcp://", **options) as made,  # type: ignore[no-untyped-call]
    ):
        yield made


@pytest.fixture
def address(cluster: LocalCluster) -> Iterator[str]:
    """The address of a scheduler with the plugin; it is taken off afterwards."""
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        client.register_plugin(OrchestratorPlugin(advisor=FixedAdvisor(default_predicted=40.0)))
        yield cluster.scheduler_address
        client.run_on_scheduler(_remove)


def _remove(dask_scheduler: Any) -> None:
    if "orchestrator" in dask_scheduler.plugins:
        dask_scheduler.remove_plugin("orchestrator")


@pytest.fixture
def busy(cluster: LocalCluster, address: str) -> Iterator[str]:
    """A run under way: its first task waits, eight others wait for it."""
    graph: dict[str, Any] = {"gate": (wait_for, "live")}
    graph |= {f"then-{i}": (add, "gate") for i in range(8)}
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        Event("live", client=client).clear()
        futures = client.get(graph, list(graph), sync=False)
        yield address
        Event("live", client=client).set()
        client.gather(futures)


def test_status_of_a_run_under_way(invoke: Invoke, busy: str) -> None:
    shown = invoke("live", "status", busy)
    assert (shown.code, shown.err) == (0, "")
    assert "mode director  2 workers" in shown.out
    assert "then+gate  0 of 9 tasks done" in shown.out
    assert "planned end  9.00 s" in shown.out
    assert "no plan ends earlier at the durations expected" in shown.out, "tasks may take less"
    assert "Dask alone   40.00 s" in shown.out
    told = json.loads(invoke("live", "status", busy, "--json").out)
    assert [run["tasks"] for run in told["runs"]] == [9]


def test_the_workers(invoke: Invoke, address: str) -> None:
    shown = invoke("live", "workers", address)
    lines = [line.split() for line in shown.out.splitlines()]
    assert lines[0] == ["worker", "kind", "threads", "speed", "tasks", "status"]
    assert [(line[0], line[-1]) for line in lines[1:]] == [("0", "running"), ("1", "running")]


def test_why_says_what_a_task_waits_for(invoke: Invoke, busy: str) -> None:
    shown = invoke("live", "why", busy, "then-3")
    assert "waiting" in shown.out
    assert "number" in shown.out
    assert "gate" in shown.out.splitlines()[-1]
    unknown = invoke("live", "why", busy, "the")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no task 'the'; did you mean then-0, then-1, then-2?" in unknown.err
    assert "lists the keys" in invoke("live", "why", busy, "nothing").err


def test_why_says_where_a_task_ran_whose_output_is_gone(
    invoke: Invoke, cluster: LocalCluster, address: str
) -> None:
    graph, keys = layers()
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        futures = client.get(graph, keys, sync=False)
        client.gather(futures)
        shown = invoke("live", "why", address, "t-0-0")
    words = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if line.strip()}
    assert words["state"] == ["released"]
    assert words["ran"][0] == "on"
    assert words["ran"][1] in ("0", "1")
    assert "from" in words["ran"]


def test_of_a_task_that_was_tried_again_it_says_so() -> None:
    ran = {"worker": "w", "start": 1.0, "end": 2.0, "status": "ok", "attempt": 1}
    assert why_view._ran(ran) == "on w from 1.00 s to 2.00 s"
    again = why_view._ran(ran | {"status": "failed", "attempt": 2})
    assert again == "on w from 1.00 s to 2.00 s, and failed, attempt 2"


def test_the_chart_has_two_rows_for_each_worker(invoke: Invoke, busy: str) -> None:
    shown = invoke("live", "gantt", busy)
    rows = [line.split("│")[0].strip() for line in shown.out.splitlines() if "│" in line]
    assert rows == ["0", "planned", "1", "planned"]
    assert "■ then" in shown.out
    missing = invoke("live", "gantt", busy, "--run", "nobody")
    assert missing.code == 1
    assert "no run 'nobody' is under way" in missing.err


@pytest.mark.parametrize(("threads", "lanes"), [({"w": 1}, 1), ({"w": 2}, 2), ({}, 2)])
def test_a_worker_has_no_more_lanes_than_threads(threads: dict[str, int], lanes: int) -> None:
    overlapping = [("w", "kind", 0.0, 1.0), ("w", "kind", 0.3, 0.9)]
    happened, planned = gantt_view._rows(["w"], ["kind"], overlapping, overlapping, threads)
    assert (len(happened.lanes), len(planned.lanes)) == (lanes, lanes)


def test_a_long_run_is_fetched_piece_by_piece(
    invoke: Invoke, cluster: LocalCluster, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator_core.execute.dask.watch.status.CHUNK", 5)
    graph, keys = layers()
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        client.get(graph, keys)
    told = json.loads(invoke("live", "gantt", address, "--json").out)
    assert {row[0] for row in told["planned"]} == {row[0] for row in told["recorded"]} == set(graph)
    assert len(told["planned"]) == len(told["recorded"]) == 18
    assert told["threads"] == {"0": 1, "1": 1}
    assert "18 of 18 tasks done" in invoke("live", "gantt", address).out


def test_enable_and_disable(invoke: Invoke, cluster: LocalCluster) -> None:
    address = cluster.scheduler_address
    absent = invoke("live", "status", address)
    assert absent.code == 1
    assert absent.err.startswith("error: the plugin is not on the scheduler at")
    assert f"orchestrator live enable {address}" in absent.err.replace("\n", " ")
    never = invoke("live", "disable", address)
    assert (never.code, never.out) == (0, "was not enabled, nothing changed\n")
    assert "enabled, mode observe" in invoke("live", "enable", address, "--mode", "observe").out
    assert "was enabled already" in invoke("live", "enable", address).out
    assert invoke("live", "disable", address).out == "disabled\n"
    assert invoke("live", "status", address).code == 1
    wrong = invoke("live", "enable", address, "--mode", "frob")
    assert (wrong.code, "mode = 'frob' is no mode" in wrong.err) == (1, True)


def test_where_there_is_no_advisor_it_is_said(
    invoke: Invoke, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator_core.execute.dask.session.READY_SECONDS", 60.0)
    address = cluster.scheduler_address
    lack = "no advisor, so nothing is planned or recorded: a database of kind 'nosuch' is not"
    enabled = invoke("live", "enable", address, "--store", "nosuch://x")
    graph, keys = layers()
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        client.get(graph, keys)
        shown = invoke("live", "status", address)
        run = json.loads(invoke("live", "status", address, "--json").out)["runs"][0]
    invoke("live", "disable", address)
    assert enabled.out == "enabled, mode director\n"
    assert enabled.err.startswith(f"note: {lack}")
    assert lack in shown.out
    assert run["reason"].startswith(lack)


@pytest.mark.parametrize("where", [NOWHERE, "http://127.0.0.1:9", "no address"])
def test_nobody_answers(
    invoke: Invoke, where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("orchestrator_core.execute.dask.greeting.CONNECT_SECONDS", 0.1)
    failed = invoke("live", "status", where)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith(f"error: no Dask scheduler answers at {where!r}")
    assert len(failed.err.splitlines()) == 1


@pytest.mark.parametrize("where", ["http://127.0.0.1:9", "no address", ""])
def test_no_client_is_begun_for_what_is_no_address(
    invoke: Invoke, where: str, no_client: list[str]
) -> None:
    assert invoke("live", "status", where).code == 1
    assert no_client == []


@pytest.fixture
def no_client(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses for which a client was begun, which is not to happen: it would wait ten seconds
    for itself when it is dropped, and say so in a traceback."""
    begun: list[str] = []
    monkeypatch.setattr("distributed.Client", lambda address, **_: begun.append(address))
    return begun


def test_a_worker_is_no_scheduler(
    invoke: Invoke, cluster: LocalCluster, no_client: list[str]
) -> None:
    assert cluster.scheduler is not None
    worker = next(iter(cluster.scheduler.workers))
    failed = invoke("live", "status", worker)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith(f"error: at {worker!r} is a Dask worker, no scheduler")
    assert no_client == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "has not answered within 2.1 s"),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "does not speak as Dask does"),
    ],
)
def test_who_listens_and_is_no_dask_server(
    invoke: Invoke,
    answer: bytes,
    said: str,
    no_client: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A dashboard waits for the rest of what it takes for a request; others complain of it."""
    if not answer:
        monkeypatch.setattr("orchestrator_core.execute.dask.greeting.ANSWER_SECONDS", 0.1)
    with listening(answer) as where:
        failed = invoke("live", "status", where)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith(f"error: what {'answers' if answer else 'listens'} at {where!r}")
    assert said in failed.err
    assert no_client == []


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """The address of somebody who says `answer` to whoever comes, and no more.

    To whoever: Dask tries an address again and again where the first try takes long.
    """

    class Says(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(ConnectionError):
                self.request.sendall(answer)
                while self.request.recv(1000):
                    pass

    with ThreadingTCPServer(("127.0.0.1", 0), Says) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"tcp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_an_encrypted_scheduler_without_certificates_is_told_what_to_name(invoke: Invoke) -> None:
    refused = invoke("live", "status", "tls://127.0.0.1:9")
    assert refused.code == 1
    assert "no certificates are configured here" in refused.err
    assert "distributed.comm.tls.ca-file" in refused.err


def test_dask_has_the_same_commands_without_a_word_between(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.dask_command.main(["status", address, "--json"], prog_name="dask orchestrator")
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["mode"] == "director"
    with pytest.raises(SystemExit):
        cli.dask_command.main(["why", "--help"], prog_name="dask orchestrator")
    assert "Usage: dask orchestrator why [OPTIONS]" in capsys.readouterr().out


def figures(**changes: Any) -> dict[str, Text]:
    run = {
        "closed": False,
        "seconds": 3.0,
        "predicted": 10.0,
        "expected_end": 11.0,
        "late_by": 1.0,
        "lower_bound": 9.0,
        "default_predicted": None,
        "planner": "search",
        "cache": "hit",
        "planning_seconds": 0.1,
    }
    return {label: figure for label, figure, _ in _figures(run | changes)}


def test_lateness_in_words() -> None:
    late = figures()["late by"]
    assert (late.plain, late.style) == ("1.00 s", "bold red")
    assert figures(late_by=0.1)["late by"].style == ""
    assert figures(late_by=-2.0)["ahead by"].plain == "2.00 s"
    assert figures(closed=True)["took"].plain == "11.00 s"


def test_a_mark_stands_where_the_time_is_now() -> None:
    answer = {"now": 5.0, "run": {"closed": False}}
    mark = gantt_view._now(answer, [], 10.0, 103)
    assert mark.plain.endswith("now, 5.00 s ▼")
    assert len(mark) == 1 + 50 + 1
    assert gantt_view._now(answer | {"run": {"closed": True}}, [], 10.0, 103).plain == ""


@pytest.mark.parametrize(
    ("placed", "said"), [(0, "nothing has run yet"), (164, "no run is under way; so far:")]
)
def test_a_cluster_on_which_nothing_runs_now(
    capsys: pytest.CaptureFixture[str], placed: int, said: str
) -> None:
    counters = {**dict.fromkeys(COUNTED, 0), "placed": placed}
    status = {"mode": "auto", "workers": [], "withdrawn": "", "runs": [], "counters": counters}
    show(status)
    shown = capsys.readouterr().out
    assert said in shown
    assert f"placed {placed} · moved 0" in shown
