"""choose_holds: what it holds and for how long, what it leaves alone, and that it never harms."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.holding import LARGEST, SHARE, choose_holds
from orchestrator_core.execute.simulate import simulate_placed
from orchestrator_core.execute.simulate.draws import draws
from orchestrator_core.execute.simulate.inversions import Inversion, inversions
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.slack import slacks
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.overtaken import overtaken


def longer(instance: Instance, factor: float) -> Instance:
    return Instance(instance.graph, instance.cluster, instance.seconds * factor)


def tangled(seed: int, tasks: int = 60) -> Instance:
    """Tasks of very different lengths, each after up to three earlier ones; speeds 4 : 2 : 1."""
    rng = np.random.default_rng(seed)
    seconds = rng.choice([0.2, 0.5, 1.0, 5.0], tasks)[:, None] / np.array([4.0, 2.0, 1.0])
    edges = [
        (int(producer), task, 0.0)
        for task in range(8, tasks)
        for producer in rng.choice(np.arange(max(0, task - 15), task), 2, replace=False)
    ]
    return Instance.from_arrays(seconds, edges)


def planned(instance: Instance) -> Schedule:
    return plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule


class TestOvertaken:
    def test_the_one_that_overtakes_is_held_for_twice_the_idle_time(self) -> None:
        """c could begin at 1 s; 13 s become 10 s. Where p takes longer it is 2 s at most."""
        instance, schedule = overtaken()
        holds = choose_holds(instance, longer(instance, 1.2), schedule)
        assert holds == {"t": Hold(sent=frozenset({"c"}), patience=2.0)}
        assert simulate_placed(instance, schedule, holds=holds).makespan == 10.0

    def test_a_short_wait_is_given_twice_its_time(self) -> None:
        instance, schedule = overtaken(first=0.1)
        (held,) = choose_holds(instance, instance, schedule).values()
        # p takes 0.1 s, a little more in the worst of the simulated runs.
        assert 0.2 <= held.patience <= 0.3

    def test_one_that_fetches_is_waited_for_until_it_is_done(self) -> None:
        """c is sent at 1 s, but its input takes 0.5 s: t, if sent as well, would begin before."""
        instance, schedule = overtaken(latency=0.5)
        holds = choose_holds(instance, instance, schedule)
        assert holds["t"].done == {"c"}
        # d needs half a second for its input as well.
        assert simulate_placed(instance, schedule).makespan == 13.5
        assert simulate_placed(instance, schedule, holds=holds).makespan == 11.0

    def test_what_would_lose_is_not_held(self) -> None:
        """With next to nothing after c it is better to let t run first: 9 s instead of 10 s."""
        instance, schedule = overtaken(last=0.01)
        held = {"t": Hold(frozenset({"c"}), patience=2.0)}
        assert simulate_placed(instance, schedule).makespan == pytest.approx(9.01)
        assert simulate_placed(instance, schedule, holds=held).makespan == 10.0
        assert choose_holds(instance, longer(instance, 1.2), schedule) == {}

    def test_no_worker_is_to_stand_idle_for_long(self) -> None:
        """Waiting 3 s for p would still save a second, but who knows whether p keeps to it."""
        instance, schedule = overtaken(first=3.0)
        held = {"t": Hold(frozenset({"c"}), patience=5.0)}
        assert simulate_placed(instance, schedule).makespan == 13.0
        assert simulate_placed(instance, schedule, holds=held).makespan == 12.0
        assert choose_holds(instance, instance, schedule) == {}

    def test_a_run_that_is_too_short_is_not_searched(self) -> None:
        instance, schedule = overtaken()
        fast = longer(instance, 1e-4)
        quick = Schedule(
            Assignment(a.task, a.worker, a.start * 1e-4, a.end * 1e-4) for a in schedule.assignments
        )
        assert choose_holds(fast, fast, quick) == {}


SAMPLES = range(5)


class TestTangled:
    @pytest.mark.parametrize("seed", SAMPLES)
    @pytest.mark.parametrize("prefetch", [False, True])
    def test_what_is_chosen_never_makes_the_mean_worse(self, seed: int, prefetch: bool) -> None:
        instance = tangled(seed)
        pessimistic, schedule = longer(instance, 1.3), planned(instance)
        holds = choose_holds(instance, pessimistic, schedule, prefetch=prefetch)
        rehearsal, tables = Rehearsal(instance, schedule), draws(instance, pessimistic, 16)
        without, held = (
            np.mean([rehearsal.makespan(t, h, prefetch) for t in tables]) for h in ({}, holds)
        )
        assert len(holds) <= SHARE * len(instance.graph)
        assert held <= without * 0.99 if holds else held == without

    def test_some_have_holds_and_the_same_ones_each_time(self) -> None:
        found = [self._choose(seed) for seed in SAMPLES]
        assert sum(bool(holds) for holds in found) >= 2
        assert found == [self._choose(seed) for seed in SAMPLES]
        for holds in found:
            assert all(hold.patience > 0 and (hold.sent or hold.done) for hold in holds.values())

    def _choose(self, seed: int) -> dict[str, Hold]:
        instance = tangled(seed)
        return choose_holds(instance, longer(instance, 1.3), planned(instance))


def test_a_task_is_not_held_for_its_own_instances() -> None:
    """The second x overtakes the first, which y needs sooner; but a hold would hold both."""
    seconds = [[9.0, 2.0, 0.5], [5.0, 5.0, 5.0], [1.0, 10.0, 9.0]]
    instance = Instance.from_arrays(
        seconds, [(0, 1, 0.0), (1, 2, 0.0)], count=2, task_names=["a", "x", "y"]
    )
    schedule = Schedule(
        [
            Assignment("a", "w1", 0.0, 2.0),
            Assignment("a", "w2", 0.0, 0.5, instance=1),
            Assignment("x", "w0", 2.0, 7.0),
            Assignment("x", "w0", 7.0, 12.0, instance=1),
            Assignment("y", "w1", 7.0, 17.0),
            Assignment("y", "w0", 12.0, 13.0, instance=1),
        ]
    )
    rehearsal = Rehearsal(instance, schedule)
    loop = rehearsal.run()
    assert loop.makespan == 20.5
    assert [(found.early, found.late) for found in inversions(loop, rehearsal.priority)] == [(3, 2)]
    assert choose_holds(instance, longer(instance, 1.5), schedule) == {}


def test_large_graphs_are_left_alone() -> None:
    instance = Instance.from_arrays(np.full((LARGEST + 1, 2), 100.0), [])
    assert choose_holds(instance, instance, planned(instance)) == {}


def test_an_inversion_is_found_with_what_it_costs() -> None:
    """t runs from 0 to 4 s; c could begin at 1 s, so d ends 3 s too late."""
    instance, schedule = overtaken()
    rehearsal = Rehearsal(instance, schedule)
    t, c = instance.graph.index["t"], instance.graph.index["c"]
    found = list(inversions(rehearsal.run(), rehearsal.priority))
    assert found == [Inversion(early=t, late=c, wait=1.0, idle=1.0, cost=3.0, fetches=False)]


def test_slack_is_what_a_task_may_be_late() -> None:
    """p, c, d are critical once t is held; t may begin when d does, as both take 4 s."""
    instance, schedule = overtaken(last=6.0)
    held = {"t": Hold(frozenset({"c"}), patience=9.0)}
    slack = slacks(Rehearsal(instance, schedule).run(None, held))
    by_name = dict(zip(instance.graph.names, slack, strict=True))
    assert by_name == {"p": 0.0, "c": 0.0, "d": 0.0, "t": 2.0}
