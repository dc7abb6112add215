"""Planners that raise, hang or think too long, and plans that make no sense."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.directives import Hold
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.chaos.advisors import Planner
from tests.chaos.ledger import Ledger
from tests.chaos.play import DIRECTED, PLAIN, STEERING, expected
from tests.chaos.rig import Rig
from tests.chaos.stories import computed
from tests.chaos.workload import make_jobs, work

pytestmark = pytest.mark.chaos


class Raising(Planner):
    def advise(self, *asked: Any, **wishes: Any) -> Advice:
        raise RuntimeError("no advice")


class Exiting(Planner):
    """Raises what is no `Exception`."""

    def advise(self, *asked: Any, **wishes: Any) -> Advice:
        raise SystemExit(3)


class NotLoading(Planner):
    def warm_up(self) -> None:
        raise MemoryError("too large")


class Forgetful(Planner):
    def record(self, run: Any) -> None:
        raise RuntimeError("no memory")


class Hanging(Planner):
    def advise(self, *asked: Any, **wishes: Any) -> Advice:
        self.go_on.wait(60)
        return super().advise(*asked, **wishes)


class Late(Planner):
    """Its plan comes when half of the graph is done."""

    def advise(self, *asked: Any, **wishes: Any) -> Advice:
        self.go_on.wait(0.5)
        return super().advise(*asked, **wishes)


class Nothing(Planner):
    """Answers with what is no advice."""

    def advise(self, *asked: Any, **wishes: Any) -> Advice:
        return None  # type: ignore[return-value]


class Stale(Planner):
    """Its plan is for another graph."""

    def schedule(self, instance: Instance) -> Schedule:
        rows = super().schedule(instance).assignments
        return Schedule(Assignment(f"gone-{r.task}", r.worker, r.start, r.end) for r in rows)


class Misplaced(Planner):
    """Its workers do not exist."""

    def schedule(self, instance: Instance) -> Schedule:
        rows = super().schedule(instance).assignments
        return Schedule(Assignment(r.task, f"no-{r.worker}", r.start, r.end) for r in rows)


class Doubled(Planner):
    def schedule(self, instance: Instance) -> Schedule:
        rows = list(super().schedule(instance).assignments)
        return Schedule([*rows, *rows])


class Partial(Planner):
    """Leaves out two tasks of three."""

    def schedule(self, instance: Instance) -> Schedule:
        return Schedule(list(super().schedule(instance).assignments)[::3])


class Backwards(Planner):
    """Consumers before producers, all at one place."""

    def schedule(self, instance: Instance) -> Schedule:
        rows = list(super().schedule(instance).assignments)
        first = instance.cluster.names[-1]
        end = max(row.end for row in rows)
        return Schedule(Assignment(r.task, first, end - r.end, end - r.start) for r in rows)


class Timeless(Planner):
    """All at the same moment."""

    def schedule(self, instance: Instance) -> Schedule:
        rows = super().schedule(instance).assignments
        return Schedule(Assignment(r.task, r.worker, 0.0, 0.0) for r in rows)


class WrongCosts(Planner):
    """Believes that the slowest worker is the fastest, and by far."""

    def price(self, graph: TaskGraph, cluster: Cluster) -> Instance:
        instance = super().price(graph, cluster)
        return Instance(instance.graph, instance.cluster, instance.seconds[:, ::-1] / 4.0)


class Circular(Planner):
    """Holds that wait for each other, for themselves, for descendants and for nobody."""

    def advice(self, instance: Instance, schedule: Schedule, **changes: Any) -> Advice:
        names = list(instance.graph.names)
        holds = {
            a: Hold(sent=frozenset((b, a)), done=frozenset((b,)), patience=0.3)
            for a, b in zip(names, [*names[1:], names[0]], strict=True)
        }
        holds |= {"no such task": Hold(sent=frozenset(("nor this",)))}
        return super().advice(instance, schedule, holds=holds)


class Patient(Planner):
    """Holds that would last an hour: the first tasks wait for the last one, which needs them."""

    def advice(self, instance: Instance, schedule: Schedule, **changes: Any) -> Advice:
        names = list(instance.graph.names)
        hold = Hold(done=frozenset(names[-5:]), patience=3600.0)
        return super().advice(instance, schedule, holds=dict.fromkeys(names[:10], hold))


class NoInstance(Planner):
    def advice(self, instance: Instance, schedule: Schedule, **changes: Any) -> Advice:
        return replace(super().advice(instance, schedule), instance=None)


class OtherInstance(Planner):
    """The instance is of another graph than the plan."""

    def advice(self, instance: Instance, schedule: Schedule, **changes: Any) -> Advice:
        other = Instance.from_arrays([[1.0, 2.0], [1.0, 1.0]], [(0, 1, 10.0)])
        return replace(super().advice(instance, schedule), instance=other)


PLANNERS = (
    Raising, Exiting, NotLoading, Forgetful, Hanging, Late, Nothing, Stale, Misplaced, Doubled,
    Partial, Backwards, Timeless, WrongCosts, Circular, Patient, NoInstance, OtherInstance,
)  # fmt: skip
WAITS = {Hanging: 0.05, Late: 0.05}
SLOWER = {Backwards: 3.0, Circular: 10.0, Patient: 8.0, WrongCosts: 3.0}
"""Plans that cost time even if all goes well: an advisor vouches for its plans and holds."""


def making(kind: type[Planner], planners: list[Planner]) -> Any:
    def make(mode: str) -> OrchestratorPlugin | None:
        if mode == PLAIN:
            return None
        planner = kind(holding=mode == "holds")
        planners.append(planner)
        steering = DIRECTED.get(mode, mode)
        wait = WAITS.get(kind, 10.0)
        return OrchestratorPlugin(mode=steering, min_tasks=2, plan_wait=wait, advisor=planner)

    return make


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("mode", STEERING)
@pytest.mark.parametrize("kind", PLANNERS, ids=lambda kind: kind.__name__)
def test_bad_advice(ledger: Ledger, kind: type[Planner], mode: str) -> None:
    planners: list[Planner] = []
    try:
        ledger.judge(
            f"advice: {kind.__name__}",
            computed,
            mode,
            baseline="nothing",
            make=making(kind, planners),
            allowance=SLOWER.get(kind, 1.0),
        )
    finally:
        for planner in planners:
            planner.go_on.set()


HOSTILE = (
    "x" * 5000,
    "{braces} %s {0} {{}}",
    "\u202etfel ot thgir",
    "näme-☃-🦆",
    "line\nbreak\ttab\0nul",
    "'; DROP TABLE runs; --",
    " ",
    ("tuple", 1),
    ("tuple", ("nested", "☃"), 0.5),
    ("tuple", "1"),
    1,
    "1",
    -1.5,
    "no such worker",
    "../../etc/passwd",
)


async def hostile(rig: Rig) -> Any:
    """Keys that nobody should choose."""
    jobs = make_jobs()
    futures = rig.start(jobs)
    graph: dict[Any, Any] = {key: (work, 1000 + i, 0.01, 10) for i, key in enumerate(HOSTILE)}
    graph["all-of-them"] = (work, 99, 0.01, 10, HOSTILE[0], HOSTILE[8])
    theirs = rig.client.get(graph, [*HOSTILE, "all-of-them"], sync=False)
    numbers = [value for value, _ in await rig.client.gather(theirs)]
    mine = await rig.numbers(futures, jobs)
    assert mine == expected(jobs)
    return numbers, mine


@pytest.mark.parametrize("mode", ["observe", *STEERING])
def test_hostile_keys(ledger: Ledger, mode: str) -> None:
    ledger.judge("hostile keys", hostile, mode)
