"""Workers say what they are; what they do not say is derived from what the scheduler sees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import dask
import pytest
from distributed import Client, Scheduler, Worker
from distributed.core import Status

from orchestrator_core.costs.devices import DEVICE_MEMORY
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.workers import describe
from orchestrator_core.execute.dask.workers import roster as module
from orchestrator_core.execute.dask.workers.describe import Accelerator, Description
from orchestrator_core.execute.dask.workers.links import End
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.dask.workers.shipped.declared import declared
from orchestrator_core.execute.dask.workers.shipped.processor import processor
from orchestrator_core.execute.dask.workers.shipped.telling import tell
from orchestrator_core.execute.dask.workers.shipping import shipped
from orchestrator_core.graph.task_graph import Floats
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, start, until

EPYC: dict[str, Any] = {"processor": "epyc-7763"}


def test_a_worker_reads_its_environment_before_its_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert declared() == {}
    with dask.config.set({"orchestrator.worker": {"kind": "big", "speed": 2, "price": 0}}):
        assert declared() == {"kind": "big", "speed": 2, "price": 0}
        monkeypatch.setenv("ORCHESTRATOR_WORKER_KIND", "huge")
        assert declared() == {"kind": "huge", "speed": 2, "price": 0}


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        ({"kind": "gpu", "speed": "2.5", "price": 3}, Description("gpu", 2.5, 3.0)),
        ({"kind": "", "speed": "fast", "price": "nan"}, Description()),
        ({"speed": 0, "price": -1}, Description()),
        ({"processor": "epyc-7763", "round_seconds": 0.5}, Description(**EPYC, round_seconds=0.5)),
        ({"processor": 7, "round_seconds": "inf", "accelerators": 3}, Description()),
        (
            {"accelerators": [{"name": "NVIDIA H100 PCIe", "memory": 8e10}, "x", {"memory": -1}]},
            Description(
                accelerators=(Accelerator("h100-pcie", 80_000_000_000), Accelerator("", 0))
            ),
        ),
        ({}, Description()),
        ("nonsense", Description()),
        (None, Description()),
    ],
)
def test_what_makes_no_sense_is_ignored(said: object, understood: Description) -> None:
    assert describe.understand(said) == understood


def test_memory_of_devices_is_each_ones_times_their_number_or_jaxs_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    two = (Accelerator("a", 1000), Accelerator("b", 3000))
    assert Description(accelerators=two).device_memory == 3000.0, "three quarters"
    assert Description(accelerators=two, declared_device_memory=500.0).device_memory == 1000.0
    assert Description(declared_device_memory=500.0).device_memory == 500.0
    assert Description().device_memory == 0.0
    with dask.config.set({"orchestrator.worker": {"device-memory": "2 GiB"}}):
        assert describe.understand(declared()).declared_device_memory == 2**31
        monkeypatch.setenv("ORCHESTRATOR_WORKER_DEVICE_MEMORY", "much")
        assert describe.understand(declared()).declared_device_memory is None


@cluster_test()
async def test_memory_of_devices_is_a_resource_of_the_cluster(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    roster = Roster(s)
    roster.describe(a.address, Description(declared_device_memory=3.5 * 2**20))
    cluster = roster.cluster()
    assert cluster is not None
    offers = {worker.name: dict(worker.resources) for worker in cluster.workers}
    assert offers == {str(a.name): {DEVICE_MEMORY: 3.0}, str(b.name): {}}


def test_workers_need_not_have_this_project() -> None:
    """The question, unpickled in a process that cannot import us, is answered."""
    script = (
        "import asyncio, pickle, sys; sys.modules['orchestrator_core'] = None;"
        f"said = asyncio.run(pickle.loads({shipped(tell)!r})());"
        "print(said['kind'], said['round_seconds'] > 0, type(said['accelerators']).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"ORCHESTRATOR_WORKER_KIND": "far", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["far", "True", "list"]


@cluster_test(
    nthreads=[("127.0.0.1", 2), ("127.0.0.1", 4, {"resources": {"GPU": 1}})],
    worker_kwargs={"memory_limit": "4 GiB"},
)
async def test_a_kind_from_what_the_scheduler_sees(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    small, large = s.workers[a.address], s.workers[b.address]
    assert describe.kind_of(small) == "2t-4g"
    assert describe.kind_of(large) == "4t-4g-GPU1"
    two = (Accelerator("h100"), Accelerator("h100"), Accelerator("t4"), Accelerator(""))
    assert describe.kind_of(small, Description(**EPYC)) == "2t-4g-epyc-7763"
    assert (
        describe.kind_of(large, Description(**EPYC, accelerators=two, round_seconds=1.0))
        == "4t-4g-GPU1-2xh100-t4-epyc-7763"
    )
    assert describe.kind_of(large, Description("mine", **EPYC)) == "mine"


@cluster_test()
async def test_workers_of_other_declared_speeds_are_of_other_kinds(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """What was learned of a kind beats the speed that is declared: where both were of one kind, the
    faster of two workers counted as no faster than the other."""
    usual, same, fast = (
        describe.kind_of(s.workers[a.address], Description(speed=speed, **EPYC))
        for speed in (None, 1.0, 2.5)
    )
    assert usual == same
    assert fast == f"{usual}-speed2.5"
    roster = Roster(s)
    roster.describe(a.address, Description(speed=2.5, **EPYC))
    roster.describe(b.address, Description(speed=1.0, **EPYC))
    found = roster.cluster()
    assert found is not None
    assert len(found.kinds) == 2


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


@cluster_test()
async def test_workers_without_a_word_have_their_hardware_in_their_kind(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session = await start(s, OrchestratorPlugin(mode="observe", advisor=FixedAdvisor()))
    said = session.roster.description(a.address)
    assert said.processor == processor()
    assert said.round_seconds is not None
    assert session.roster.kind(a.address) == describe.kind_of(s.workers[a.address], said)
    found = session.roster.cluster()
    assert found is not None
    assert len(found.kinds) == 1, "equal workers are of one kind"
    assert [worker.speed for worker in found.workers] == [1.0, 1.0]


@pytest.mark.parametrize(("took", "at_rest"), [(0.01, 1.0), (0.5, 10.0)])
@cluster_test()
async def test_a_cluster_that_takes_long_to_put_together_is_put_together_less_often(
    c: Client, s: Scheduler, a: Worker, b: Worker, took: float, at_rest: float
) -> None:
    """Once a second, or a twentieth of the event loop's time: of 100 workers with 10,000 links it
    was half of that time."""
    now = [100.0]
    made: list[float] = []
    roster = Roster(s)
    matrices = roster.links.matrices

    def slowly(ends: Sequence[End], otherwise: float) -> tuple[Floats, Floats]:
        made.append(now[0])
        now[0] += took
        return matrices(ends, otherwise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "monotonic", lambda: now[0])
        patch.setattr(roster.links, "matrices", slowly)
        roster.cluster()
        now[0] = 100.0 + 0.9 * at_rest
        roster.cluster()
        assert made == [100.0]
        now[0] = 100.0 + at_rest + 2 * took
        roster.cluster()
        assert made == [100.0, 100.0 + at_rest + 2 * took]


@cluster_test()
async def test_a_cluster_is_the_same_object_until_something_changes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    roster = Roster(s)
    found = roster.cluster()
    assert roster.cluster() is found
    s.bandwidth *= 1.01
    roster.describe(a.address, describe.UNKNOWN)
    assert roster.cluster() is found, "asked anew, found the same"
    roster.describe(a.address, Description(kind="fast"))
    changed = roster.cluster()
    assert changed is not None
    assert changed.workers[0].kind == "fast"


@cluster_test()
async def test_a_paused_worker_is_not_in_the_cluster(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    roster = Roster(s)
    both = roster.cluster()
    assert both is not None
    assert len(both) == 2
    a.status = Status.paused
    await until(lambda: s.workers[a.address].status is Status.paused)
    left = roster.cluster()
    assert left is not None
    assert left.names == (str(b.name),)


@cluster_test()
async def test_who_a_record_is_about_follows_the_description(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    roster = Roster(s)
    name, kind = roster.identity(a.address)
    assert (name, kind) == (str(a.name), roster.kind(a.address))
    roster.describe(a.address, Description(kind="fast"))
    assert roster.identity(a.address) == (name, "fast")
    roster.remove(a.address)
    assert roster.identity(a.address)[0] == a.address
