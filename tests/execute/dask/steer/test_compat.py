"""The probe: the best way that a version of distributed allows, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Scheduler, Worker
from distributed.stealing import WorkStealing

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.steer import compat
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import cluster_test, layers, result, start, stop


@cluster_test()
async def test_this_version_allows_the_director(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    assert compat.probe(s) == "director"
    assert [compat.choose(wanted, s) for wanted in ("auto", *compat.ORDER)] == [
        "director",
        *compat.ORDER,
    ]


def other_signature(self: object, task: object, more: int) -> None: ...


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Scheduler, "is_rootish"),
        (Scheduler, "decide_worker_non_rootish"),
        (WorkStealing, "steal_time_ratio"),
    ],
)
@cluster_test()
async def test_another_signature_means_restrictions(
    c: Client, s: Scheduler, a: Worker, b: Worker, owner: Any, name: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, other_signature)
        assert compat.probe(s) == "restrict"
        assert compat.choose("director", s) == "restrict"
    with pytest.MonkeyPatch.context() as patch:
        for base in owner.__mro__:
            if name in vars(base):
                patch.delattr(base, name)
        assert compat.probe(s) == "restrict"


@cluster_test()
async def test_somebody_elses_override_is_respected(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    theirs = s.is_rootish
    s.is_rootish = theirs  # type: ignore[method-assign]
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    assert session.mode == "restrict"
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
    assert vars(s).pop("is_rootish") is theirs


@cluster_test()
async def test_without_restrictions_there_is_only_observing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compat, "SCHEDULER_METHODS", ("no_such_method",))
        patch.setattr(compat, "RESTRICTIONS", ("no_such_field",))
        assert compat.probe(s) == "observe"
        assert compat.choose("auto", s) == "observe"
        assert compat.choose("off", s) == "off"


@cluster_test(config={"distributed.scheduler.work-stealing": False})
async def test_a_scheduler_whose_stealing_is_off_is_directed_too(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    s.extensions.pop("stealing", None)
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(advisor=advisor)
    session = await start(s, plugin)
    assert session.mode == "director"
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
