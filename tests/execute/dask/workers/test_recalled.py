"""What a session found of its links is written down, and where the next one begins."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from distributed import Client, Scheduler, Worker, wait

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.workers import roster
from orchestrator_core.execute.dask.workers.links import Links
from orchestrator_core.execute.dask.workers.transfers import LATENCY
from orchestrator_core.graph.cluster import Cluster
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, start, stop

BANDWIDTH = 2.0**28


def measured(part: bytes, _: int) -> int:
    return len(part)


class Clocked(Links):
    """As if each transfer had been alone, at `BANDWIDTH`; real ones depend on the machine."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = count(step=10)

    def observe(self, source: Any, destination: Any, nbytes: float, *when: float) -> None:
        begun = float(next(self._begun))
        super().observe(source, destination, nbytes, begun, begun + LATENCY + nbytes / BANDWIDTH)


class Rememberer(FixedAdvisor):
    """Knows clusters from before."""

    def __init__(self, *measured: Cluster) -> None:
        super().__init__()
        self.measured = measured

    def warm_up(self) -> None:
        return None


@cluster_test()
async def test_a_session_begins_with_the_links_of_the_last(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    # Kinds are what workers say, so they have to be asked first.
    first = OrchestratorPlugin(mode="observe", advisor=FixedAdvisor())
    live = await start(s, first)
    kinds = live.roster.cluster()
    assert kinds is not None
    before = Cluster.from_matrices(kinds.workers, latency=2.0**-8, seconds_per_byte=2.0**-21)
    await stop(s, first)
    plugin = OrchestratorPlugin(advisor=Rememberer(before))
    live = await start(s, plugin)
    assert await live.advisory.wait_ready(10.0)
    assert live.roster.cluster() == before
    await stop(s, plugin)


@cluster_test()
async def test_the_record_of_a_run_has_the_links_that_it_found(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor: Any = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="observe", advisor=advisor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roster, "RENEWAL", 0.0)
        patch.setattr(roster, "RESTS", 0.0)
        patch.setattr(roster, "Links", Clocked)
        live = await start(s, plugin)
        await live.meters.settled()
        big = c.map(bytes, [3_000_000 + i for i in range(8)], workers=[a.address], pure=False)
        await wait(big)
        # One after the other, so that each is a transfer of its own.
        for i, future in enumerate(big):
            keys = [f"n-{i}-0", f"n-{i}-1"]
            await wait(c.map(measured, [future] * 2, [0, 1], key=keys, workers=[b.address]))
        await stop(s, plugin)
    made, *used = advisor.runs
    assert made.measured is None
    assert used[0].measured is None, "a single transfer is not believed"
    found = used[-1].measured.link(str(a.name), str(b.name))
    assert found.bandwidth == pytest.approx(BANDWIDTH)
