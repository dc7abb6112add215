"""Scripts that run a flow end with the exit code and the last words that they end with as it is."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ..processes import ROOT, cluster_for_processes, environment, until
from . import gate, notes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCRIPT = """
import sys
from prefect import flow, task
from prefect.states import Cancelled
from prefect_dask import DaskTaskRunner
from orchestrator_prefect import optimized_flow
from tests.orchestrator_prefect.parity import gate, notes

how, what, address, store = sys.argv[1:]
if how == "theirs":
    decorator = flow(task_runner=DaskTaskRunner(address=address))
else:
    decorator = optimized_flow(address=address, store=store)


@task
def does(what):
    if what == "fails in a task":
        raise ValueError("as I was told")
    if what == "is interrupted":
        notes.note("waits", "exit codes")
        gate.wait(60.0)
    return what


@decorator
def script(what):
    done = does.submit(what)
    if what == "is cancelled":
        return Cancelled(message="as I say")
    if what == "exits":
        done.wait()
        sys.exit(3)
    if what == "fails unseen":
        does.submit("fails in a task")
    return done.result()


print("gave", script(what))
"""


@pytest.fixture(scope="module")
def cluster(prefect_server: None) -> Iterator[Any]:
    with cluster_for_processes(2) as made:
        yield made


_OWN = re.compile(r"\d\d:\d\d:\d\d\S*|(?<=Flow run ')[a-z-]+")
"""What differs from run to run: the time, and the run's name."""


def ended(how: str, what: str, cluster: Any, store: str) -> tuple[int, list[str], list[str]]:
    """Exit code, the last line on stderr, and what was printed."""
    arguments = [how, what, cluster.scheduler_address, store]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if what == "is interrupted":
        until(lambda: notes.of("exit codes"), "the task begins")
        notes.forget("exit codes")
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=180.0)
    gate.open()
    last = [_OWN.sub("", line) for line in err.splitlines()[-1:]]
    return process.returncode, last, out.splitlines()


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("passes", 0),
        ("fails in a task", 1),
        ("fails unseen", None),
        ("is cancelled", 1),
        ("exits", 3),
        ("is interrupted", None),
    ],
)
def test_a_script_ends_as_under_prefect_dask(
    cluster: Any, tmp_path: Any, what: str, code: int | None
) -> None:
    gate.close()
    wanted = ended("theirs", what, cluster, "")
    gate.close()
    found = ended("ours", what, cluster, str(tmp_path / "runs.db"))
    assert found == wanted
    assert code is None or wanted[0] == code
