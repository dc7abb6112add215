"""Tasks that need resources: the plan places them, among the workers that have them."""

from __future__ import annotations

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.dask import OrchestratorPlugin, client
from orchestrator_core.execute.directives import Slot
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, start, stop, until, wait_for

GPU = {"resources": {"GPU": 1}}
MIXED = [("127.0.0.1", 1), ("127.0.0.1", 1, GPU), ("127.0.0.1", 1, GPU)]
TASKS = [(f"x-{i}", f"x-{i}", "x") for i in range(6)]


async def places(c: Client, s: Scheduler, mode: str, worker: Worker) -> set[str]:
    """Where tasks run that need a GPU and are planned on that worker."""
    plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
    await start(s, plugin)
    slots = {key: Slot(str(worker.name), i) for i, (key, _, _) in enumerate(TASKS)}
    await client.begin(c, "run", TASKS, slots)
    futures = [c.submit(add, 1, key=key, resources={"GPU": 1}, pure=False) for key in slots]
    assert await c.gather(futures) == [2] * len(TASKS)
    ran = {str(ws.name) for key in slots for ws in s.tasks[key].who_has}
    await stop(s, plugin)
    return ran


@cluster_test(nthreads=MIXED)
async def test_the_plan_chooses_among_those_that_have_them(
    c: Client, s: Scheduler, cpu: Worker, one: Worker, other: Worker
) -> None:
    for chosen in (one, other):
        assert await places(c, s, "director", chosen) == {str(chosen.name)}


@pytest.mark.parametrize("mode", ["director", "restrict"])
def test_a_plan_cannot_send_them_where_they_are_not(mode: str) -> None:
    @cluster_test(nthreads=MIXED)
    async def sent_to_the_wrong_one(
        c: Client, s: Scheduler, cpu: Worker, one: Worker, other: Worker
    ) -> None:
        assert await places(c, s, mode, cpu) <= {str(one.name), str(other.name)}

    sent_to_the_wrong_one()


@pytest.mark.parametrize("mode", ["director", "restrict"])
def test_nobody_else_gets_them_when_their_worker_is_lost(mode: str) -> None:
    """Restrictions that a plan writes are loose; those for resources must not become so."""

    @cluster_test(nthreads=MIXED[:2])
    async def lost(c: Client, s: Scheduler, cpu: Worker, one: Worker) -> None:
        plugin = OrchestratorPlugin(mode=mode, advisor=FixedAdvisor())
        await start(s, plugin)
        await client.begin(c, "run", [("needs", "needs", "x")], {"needs": Slot(str(one.name), 0)})
        gate = c.submit(wait_for, "open", key="gate", workers=[cpu.address])
        needs = c.submit(add, gate, key="needs", resources={"GPU": 1})
        await until(lambda: "needs" in s.tasks)
        await one.close()
        await Event("open").set()
        await until(lambda: s.tasks["needs"].state == "no-worker")
        assert needs.status == "pending"
        await stop(s, plugin)

    lost()
