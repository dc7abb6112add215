"""One Prefect server and one Dask cluster for the whole folder; nothing leaves this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import certifi
import pytest

# Prefect reads these when it is first imported.
HOME = tempfile.mkdtemp(prefix="prefect-home-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ.update(
    PREFECT_HOME=HOME,
    DO_NOT_TRACK="1",
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
    PREFECT_LOGGING_LEVEL="ERROR",
    PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED="false",
)
# For each task Prefect reads all certificates that it trusts, though nobody here speaks TLS.
ONE_CERTIFICATE = Path(HOME, "certificate.pem")
ONE_CERTIFICATE.write_text(Path(certifi.where()).read_text().partition("\n\n#")[0])
os.environ["PREFECT_API_SSL_CERT_FILE"] = str(ONE_CERTIFICATE)
# A Prefect server that runs already, instead of one for the tests alone.
RUNNING_SERVER = os.environ.get("ORCHESTRATOR_TEST_PREFECT_API_URL")
if RUNNING_SERVER:
    os.environ["PREFECT_API_URL"] = RUNNING_SERVER

from orchestrator_core.execute.advice import Advice  # noqa: E402
from orchestrator_core.execute.record import PlanRecord, RunRecord  # noqa: E402
from orchestrator_core.graph.cluster import Cluster  # noqa: E402
from orchestrator_core.graph.task_graph import TaskGraph  # noqa: E402
from orchestrator_core.plan.schedule import Assignment, Schedule  # noqa: E402

FOLDER = Path(__file__).parent

# Prefect's clients and the event loops behind asynchronous flows leave closing to the garbage
# collector: "unclosed <socket.socket ...>", "unclosed event loop <...>".
LEFT_OPEN = "ignore:unclosed:ResourceWarning"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(LEFT_OPEN))


class Advisor:
    """Plans every task onto one worker, once it has seen a run; remembers what it was told."""

    def __init__(self, worker: str = "0") -> None:
        self.worker = worker
        self.asked: list[TaskGraph] = []
        self.runs: list[RunRecord] = []
        self.closed = False

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        self.asked.append(graph)
        if not self.runs:
            return Advice(None, "first run: observed", "g", "c")
        rows = [
            Assignment(name, self.worker, float(i), float(i + 1))
            for i, name in enumerate(graph.names)
        ]
        plan = PlanRecord(
            schedule=Schedule(rows),
            predicted=float(len(rows)),
            lower_bound=float(len(rows)) / 2,
            bound_method="area",
            planner="fake",
            cache="miss",
            adopted=True,
            reason="planned for a test",
        )
        return Advice(plan, plan.reason, "g", "c")

    def record(self, run: RunRecord) -> None:
        self.runs.append(run)

    def close(self) -> None:
        self.closed = True


@contextmanager
def settings_made_once() -> Iterator[None]:
    """A worker makes Prefect's settings anew for each task, of what the flow sent, which takes half
    of a small task's time; here equal ones are the same ones."""
    from prefect.context import SettingsContext
    from prefect.settings import Settings

    make: Any = SettingsContext.__init__
    known: dict[tuple[Any, ...], Settings] = {}

    def made(self: SettingsContext, **sent: Any) -> None:
        if isinstance(sent["settings"], dict):
            said = sorted(pair for pair in os.environ.items() if pair[0].startswith("PREFECT_"))
            key = repr(sent["settings"]), *said
            if key not in known:
                known[key] = Settings(**sent["settings"])
            sent["settings"] = known[key]
        make(self, **sent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SettingsContext, "__init__", made)
        yield


@pytest.fixture
def advisor() -> Advisor:
    return Advisor()


@pytest.fixture(scope="package")
def prefect_server() -> Iterator[None]:
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with ExitStack() as stack:
        stack.enter_context(settings_made_once())
        if not RUNNING_SERVER:
            from prefect.testing.utilities import prefect_test_harness

            stack.enter_context(prefect_test_harness(server_startup_timeout=120))
        # At its end a flow waits up to a second for the thread of its heart.
        stack.enter_context(temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}))
        yield


@pytest.fixture(scope="package")
def cluster(prefect_server: None) -> Iterator[Any]:
    """Two workers, named 0 and 1, in this process; the plugin there never plans by itself."""
    from distributed import Client, LocalCluster

    from orchestrator_core.execute.dask.client import ensure_plugin

    from .one_clock import OneClockWorker

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=False,
            worker_class=OneClockWorker,
            dashboard_address=":0",
        ) as made,
        Client(made, set_as_default=False) as client,
    ):
        ensure_plugin(client, advisor=Advisor())
        yield made
