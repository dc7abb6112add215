"""simulate_placed with holds and with outputs that are sent ahead: values by hand, and laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate import simulate_placed
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.execute.overtaken import overtaken
from tests.strategies import instances, serial_schedule

SEEDS = st.integers(0, 10_000)
KNOWN: dict[str, Any] = {"threads": True, "encode": True, "counts": True, "release": True}


def starts(schedule: Schedule) -> dict[str, float]:
    return {a.task: a.start for a in schedule.assignments}


def hold(*sent: str, done: tuple[str, ...] = (), patience: float = 100.0) -> Hold:
    return Hold(frozenset(sent), frozenset(done), patience)


def some(names: list[str], rng: np.random.Generator) -> frozenset[str]:
    """Up to two of the names."""
    return frozenset(rng.choice(names, rng.integers(0, 3)).tolist())


class TestHolds:
    def test_without_a_hold_the_later_task_overtakes(self) -> None:
        assert starts(simulate_placed(*overtaken())) == {"p": 0, "t": 0, "c": 4, "d": 9}

    def test_a_task_waits_until_another_is_sent(self) -> None:
        done = simulate_placed(*overtaken(), holds={"t": hold("c")})
        assert starts(done) == {"p": 0, "c": 1, "d": 6, "t": 6}
        assert done.makespan == 10

    def test_a_task_waits_until_others_are_done(self) -> None:
        done = simulate_placed(*overtaken(), holds={"t": hold(done=("p", "d"))})
        assert starts(done)["t"] == 10

    def test_patience_ends(self) -> None:
        done = simulate_placed(*overtaken(), holds={"t": hold("c", patience=0.5)})
        assert starts(done) == {"p": 0, "t": 0.5, "c": 4.5, "d": 9.5}

    def test_what_a_held_task_waits_for_may_be_held_too(self) -> None:
        holds = {"t": hold("c"), "c": hold(done=("p", "t"), patience=2.0)}
        # c is ready at 1 s and sent at 3 s, when its patience ends; t is sent right after it.
        done = simulate_placed(*overtaken(), holds=holds)
        assert starts(done) == {"p": 0, "c": 3, "d": 8, "t": 8}

    def test_names_that_do_not_exist_hold_nothing(self) -> None:
        holds = {"t": hold("gone", 7), "gone": hold("t")}  # type: ignore[arg-type]
        assert simulate_placed(*overtaken(), holds=holds) == simulate_placed(*overtaken())

    def test_a_task_of_several_instances_is_sent_when_all_are(self) -> None:
        """p x 2 run one after the other; q waits for the second to be done."""
        graph = TaskGraph.from_tasks([Task("p", seconds=1, count=2), Task("q", seconds=1)], [])
        instance = Instance.price(graph, Cluster([Worker("a"), Worker("b")]))
        plan = Schedule(
            [
                Assignment("p", "a", 0, 1),
                Assignment("p", "a", 1, 2, instance=1),
                Assignment("q", "b", 2, 3),
            ]
        )
        done = simulate_placed(instance, plan, holds={"q": hold(done=("p",))})
        assert starts(done)["q"] == 2

    @given(instance=instances(**KNOWN), seed=SEEDS)
    def test_holds_of_nothing_change_nothing(self, instance: Instance, seed: int) -> None:
        plan = serial_schedule(instance, np.random.default_rng(seed))
        nothing = dict.fromkeys(instance.graph.names, Hold())
        assert simulate_placed(instance, plan, holds=nothing) == simulate_placed(instance, plan)

    @given(instance=instances(**KNOWN), seed=SEEDS, prefetch=st.booleans())
    def test_whatever_is_held_all_is_done_by_the_rules(
        self, instance: Instance, seed: int, prefetch: bool
    ) -> None:
        rng = np.random.default_rng(seed)
        plan = serial_schedule(instance, rng)
        names = list(instance.graph.names)
        holds = {
            name: Hold(some(names, rng), some(names, rng), rng.uniform(0, 3)) for name in names
        }
        done = simulate_placed(instance, plan, holds=holds, prefetch=prefetch)
        check_schedule(instance, done)
        assert simulate_placed(instance, plan, holds=holds, prefetch=prefetch) == done


class TestPrefetch:
    """x (3 bytes) is done at 1 s on w1, y at 5 s on w2; z on w2 needs both; a byte takes 1 s."""

    CLUSTER = Cluster([Worker("w1"), Worker("w2")], Link(bandwidth=1.0))
    PLAN = Schedule(
        [
            Assignment("x", "w1", 0.0, 1.0),
            Assignment("y", "w2", 0.0, 5.0),
            Assignment("z", "w2", 5.0, 6.0),
        ],
        [Transfer("x", "w1", "w2", 1.0, 1.0, 4.0, 3.0)],
    )

    def instance(self, *needs: str) -> Instance:
        tasks = [
            Task("x", seconds=1.0, output_bytes=3.0),
            Task("y", seconds=5.0),
            Task("z", seconds=1.0),
        ]
        return Instance.price(
            TaskGraph.from_tasks(tasks, [Edge(n, "z") for n in needs]), self.CLUSTER
        )

    def test_an_output_travels_while_its_consumer_waits_for_another(self) -> None:
        instance = self.instance("x", "y")
        assert simulate_placed(instance, self.PLAN).makespan == 9.0
        ahead = simulate_placed(instance, self.PLAN, prefetch=True)
        assert ahead == self.PLAN
        assert ahead.makespan == 6.0

    def test_what_the_consumer_waits_for_alone_is_fetched_by_itself(self) -> None:
        instance = self.instance("x")
        plain = simulate_placed(instance, self.PLAN)
        assert simulate_placed(instance, self.PLAN, prefetch=True) == plain

    def test_it_happens_with_the_durations_that_come(self) -> None:
        """x takes 4 s: it arrives at 7 s, two seconds after y is done."""
        seconds = np.array([[4.0, 4.0], [5.0, 5.0], [1.0, 1.0]])
        ahead = simulate_placed(self.instance("x", "y"), self.PLAN, seconds, prefetch=True)
        assert starts(ahead)["z"] == 7.0


def test_a_rehearsal_is_the_same_each_time() -> None:
    instance, plan = overtaken()
    rehearsal = Rehearsal(instance, plan)
    held = {"t": hold("c")}
    makespans = [rehearsal.makespan(None, h) for h in ({}, held, {}, held)]
    assert makespans == [13, 10, 13, 10]
    assert rehearsal.makespan(instance.seconds * 2) == pytest.approx(26)
