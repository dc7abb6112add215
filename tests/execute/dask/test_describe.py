"""Workers say what they are; what they do not say is derived from what the scheduler sees."""

from __future__ import annotations

import pickle
import subprocess
import sys

import dask
import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask import OrchestratorPlugin, describe
from orchestrator_core.execute.dask.describe import Description
from orchestrator_core.execute.dask.roster import Roster, rounded
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.graphs import cluster_test, start, until


def test_a_worker_reads_its_environment_before_its_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert describe.say() == {}
    with dask.config.set({"orchestrator.worker": {"kind": "big", "speed": 2, "price": 0}}):
        assert describe.say() == {"kind": "big", "speed": 2, "price": 0}
        monkeypatch.setenv("ORCHESTRATOR_WORKER_KIND", "huge")
        assert describe.say() == {"kind": "huge", "speed": 2, "price": 0}


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        ({"kind": "gpu", "speed": "2.5", "price": 3}, Description("gpu", 2.5, 3.0)),
        ({"kind": "", "speed": "fast", "price": "nan"}, Description()),
        ({"speed": 0, "price": -1}, Description()),
        ({}, Description()),
        ("nonsense", Description()),
        (None, Description()),
    ],
)
def test_what_makes_no_sense_is_ignored(said: object, understood: Description) -> None:
    assert describe.understand(said) == understood


def test_workers_need_not_have_this_project() -> None:
    """The question, unpickled in a process that cannot import us, is answered."""
    script = (
        "import pickle, sys; sys.modules['orchestrator_core'] = None;"
        f"print(pickle.loads({describe._by_value()!r})())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"ORCHESTRATOR_WORKER_KIND": "far", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "{'kind': 'far'}"
    assert pickle.loads(describe._by_value())() == {}


@cluster_test(
    nthreads=[("127.0.0.1", 2), ("127.0.0.1", 4, {"resources": {"GPU": 1}})],
    worker_kwargs={"memory_limit": "4 GiB"},
)
async def test_a_kind_from_what_the_scheduler_sees(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    assert describe.default_kind(s.workers[a.address]) == "2t-4g"
    assert describe.default_kind(s.workers[b.address]) == "4t-4g-GPU1"


@cluster_test(config={"orchestrator.worker": {"kind": "fast", "speed": 4.0, "price": 1.5}})
async def test_the_scheduler_asks_present_and_coming_workers(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session = await start(s, OrchestratorPlugin(advisor=FixedAdvisor()))
    found = session.roster.cluster()
    assert found is not None
    assert [(w.kind, w.speed, w.price) for w in found.workers] == [("fast", 4.0, 1.5)] * 2
    async with Worker(s.address, nthreads=1, name="late") as late:
        await until(lambda: session.roster.kind(late.address) == "fast")
        found = session.roster.cluster()
        assert found is not None
        assert found.names == ("0", "1", "late")
    await until(lambda: late.address not in s.workers)
    assert session.roster.kind(late.address) == ""
    assert "late" not in session.roster


@cluster_test()
async def test_names_that_read_the_same_are_told_apart(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Two workers are called 0 and "0": one of them goes by its address."""
    async with Worker(s.address, nthreads=1, name="0") as other:
        await until(lambda: len(s.running) == 3)
        roster = Roster(s)
        found = roster.cluster()
        assert found is not None
        assert len(set(found.names)) == 3
        assert set(found.names) - {"0", "1"} <= {a.address, other.address}
        named = {roster.running(name) for name in found.names}
        assert named == set(s.workers.values())


def test_bandwidth_is_rounded_to_quarter_doublings() -> None:
    assert rounded(2.0**20) == 2.0**20
    assert rounded(1.05 * 2.0**20) == 2.0**20
    assert all(0.9 < rounded(b) / b < 1.1 for b in (1e6, 3.3e7, 1e8, 9.9e9))
