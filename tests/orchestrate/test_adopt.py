"""Is a plan worth following? Each answer with its reason."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from orchestrator_core import Budget, Cluster, Instance, Link, TaskGraph, Worker, plan
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.orchestrate.adopt import judge
from orchestrator_core.orchestrate.alike import are_alike
from orchestrator_core.orchestrate.expect import expected_makespans, with_measures
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.overtaken import overtaken


def chain(tasks: int = 8, seconds: float = 1.0) -> Instance:
    """A chain on workers of speeds 4, 1 and 1."""
    names = [f"c{i}" for i in range(tasks)]
    graph = TaskGraph.from_tasks(
        [Task(name, kind="c", seconds=seconds) for name in names],
        [Edge(a, b) for a, b in pairwise(names)],
    )
    return Instance.price(graph, Cluster([Worker("w0"), Worker("w1"), Worker("w2", speed=4.0)]))


def longer(instance: Instance, factor: float) -> Instance:
    return Instance(instance.graph, instance.cluster, instance.seconds * factor)


def planned(instance: Instance) -> Schedule:
    return plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule


def test_a_chain_on_the_fast_worker_is_worth_it() -> None:
    """2 s there; Dask leaves it where its first task lands, mostly on a slow one: 8 s."""
    instance = chain()
    verdict = judge(instance, longer(instance, 1.5), planned(instance), 0.05)
    assert verdict.adopt
    assert verdict.expected.planned == 2.0
    assert verdict.pessimistic.planned == 3.0
    assert verdict.drawn.gain > 0.5
    assert verdict.default_predicted == verdict.drawn.default
    told = f"planned: it takes 2.34 s against {verdict.drawn.default:.3g} s by Dask's own order"
    assert verdict.told(2.34).startswith(told)


def test_dask_alone_takes_the_mean_of_its_chances() -> None:
    """Whichever worker stands first in the cluster, all of them come first now and then."""
    instance = chain()
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        workers = [instance.cluster.workers[i] for i in order]
        turned = Instance.price(instance.graph, Cluster(workers))
        race = judge(turned, turned, planned(turned), 0.05).expected
        assert set(race.chances) == {2.0, 8.0}
        assert race.default == pytest.approx(sum(race.chances) / len(race.chances))


def test_what_dask_loses_now_and_then_counts() -> None:
    """Mostly Dask begins on one of three fast workers, as the plan does; else it takes 8 s."""
    fast = [Worker(f"fast{i}", speed=4.0) for i in range(3)]
    instance = Instance.price(chain().graph, Cluster([*fast, Worker("slow")]))
    verdict = judge(instance, instance, planned(instance), 0.05)
    assert sorted(verdict.expected.chances)[len(verdict.expected.chances) // 2] == 2.0
    assert verdict.expected.planned == 2.0
    assert verdict.adopt


def test_the_scale_of_dasks_chances_is_learned_from_its_usual_run() -> None:
    """Its usual run takes twice as long as simulated; one unlucky run beside it says no more."""
    instance = chain()
    alone = judge(instance, instance, planned(instance), 0.05).expected
    usual = sorted(alone.chances)[len(alone.chances) // 2]
    lessons = Lessons([2 * usual] * 7 + [9 * usual])
    taught = judge(instance, instance, planned(instance), 0.05, lessons=lessons).expected
    assert taught.default == pytest.approx(2 * alone.default, rel=0.1)


def test_durations_that_are_believed_to_be_too_long_are_so_for_plan_and_dask() -> None:
    """Each of 8 tasks of 1 s on workers of speeds 4 and 1, which Dask takes for equal."""
    graph = TaskGraph.from_tasks([Task(f"t{i}", kind="t", seconds=1.0) for i in range(8)])
    instance = Instance.price(graph, Cluster([Worker("w0"), Worker("w1", speed=4.0)]))
    alone = judge(instance, instance, planned(instance), 0.05)
    assert alone.adopt
    # They take less in truth: Dask took half of what any run would take.
    bound = 8.0 / 5.0
    lessons = Lessons([bound / 2] * 8)
    taught = judge(instance, instance, planned(instance), 0.05, lessons=lessons, bound=bound)
    assert taught.expected.planned == pytest.approx(alone.expected.planned / 2, rel=0.1)


def test_that_dask_does_better_than_its_simulation_makes_no_plan_faster() -> None:
    """A chain takes 2 s on the fast worker, whoever places it; simulations of Dask, up to 8."""
    instance = chain()
    lessons = Lessons([2.1] * 8)
    verdict = judge(instance, instance, planned(instance), 0.05, lessons=lessons, bound=2.0)
    assert verdict.expected.planned >= 2.0
    without = judge(instance, instance, planned(instance), 0.05, lessons=lessons)
    assert verdict.expected == without.expected, "what is proven is only needed where it matters"


def test_no_forecast_is_below_what_is_proven() -> None:
    """Earlier plans ended sooner than was said of them, as they do where many tasks vary."""
    instance = chain()
    pessimistic, lessons = longer(instance, 1.3), Lessons(drift=-0.4)
    verdict = judge(instance, pessimistic, planned(instance), 0.05, lessons=lessons, bound=2.0)
    for race in (verdict.expected, verdict.pessimistic, verdict.drawn):
        assert min(race.planned, race.default) >= 2.0


def test_a_plan_that_saves_too_little_is_not_worth_it() -> None:
    instance = chain()
    verdict = judge(instance, instance, planned(instance), 0.8)
    assert not verdict.adopt
    assert "it must save 80%" in verdict.reason
    assert verdict.reason.startswith("left to Dask")


def long_on_the_fast_worker(instance: Instance, seconds: float) -> Instance:
    slow = instance.seconds.copy()
    slow[:, 2] = seconds
    return Instance(instance.graph, instance.cluster, slow)


def test_a_plan_that_loses_if_tasks_run_long_is_not_worth_it() -> None:
    """The fast worker may turn out to be the slowest: 16 s where Dask mostly takes 8."""
    instance = chain()
    long = long_on_the_fast_worker(instance, 2.0)
    verdict = judge(instance, long, planned(instance), 0.05, mends=False)
    assert not verdict.adopt
    assert verdict.expected.gain > 0.5
    assert "if tasks run long the plan takes 16 s" in verdict.reason
    assert verdict.reason.endswith("it must not be slower")


def test_a_plan_need_not_save_much_if_tasks_run_long() -> None:
    """The fast worker may turn out to be hardly faster than the others."""
    instance = chain()
    long = long_on_the_fast_worker(instance, 63 / 64)
    verdict = judge(instance, long, planned(instance), 0.05)
    assert 0.0 < verdict.pessimistic.gain < 0.05 < verdict.drawn.gain
    assert verdict.adopt


def test_what_saves_milliseconds_is_not_worth_planning() -> None:
    """2 ms instead of 4 ms in the mean: 8 on the slow worker, 2 on the fast one."""
    instance = chain(seconds=1e-3)
    verdict = judge(instance, instance, planned(instance), 0.05)
    assert not verdict.adopt
    assert "at most 2 ms can be saved" in verdict.reason


def test_workers_that_are_alike_are_left_to_dask() -> None:
    """However good the plan: the one below saves two thirds against a lottery that nobody plays."""
    instance, schedule = overtaken()
    verdict = judge(instance, instance, schedule, 0.0)
    assert not verdict.adopt
    assert "all workers are alike" in verdict.reason
    assert (verdict.holds, verdict.prefetch) == ({}, False)


@pytest.mark.parametrize(
    ("workers", "link", "expected"),
    [
        ([Worker("a"), Worker("b", kind="other", price=2.0)], Link(latency=0.1), True),
        ([Worker("a")], Link(), True),
        ([Worker("a"), Worker("b", speed=2.0)], Link(), False),
        ([Worker("a"), Worker("b", threads=2)], Link(), False),
        ([Worker("a"), Worker("b", memory=1e9)], Link(), False),
        ([Worker("a"), Worker("b", resources={"GPU": 1})], Link(), False),
    ],
)
def test_which_workers_are_alike(workers: list[Worker], link: Link, expected: bool) -> None:
    graph = TaskGraph.from_tasks([Task("t", seconds=1.0)], [])
    assert are_alike(Instance.price(graph, Cluster(workers, link))) is expected


def test_workers_with_other_links_are_not_alike() -> None:
    near, far = np.zeros((3, 3)), np.zeros((3, 3))
    far[0, 1] = far[1, 0] = 0.5
    assert are_alike(Instance.from_arrays(np.ones((2, 3)), [], latency=near))
    assert not are_alike(Instance.from_arrays(np.ones((2, 3)), [], latency=far))


class TestMeasures:
    """t overtakes c on the second worker; three more are slow, which Dask does not know."""

    def setup_method(self) -> None:
        instance, self.schedule = overtaken()
        workers = [*instance.cluster.workers, *(Worker(f"s{i}", speed=0.1) for i in "abc")]
        self.instance = Instance.price(instance.graph, Cluster(workers))

    def test_a_plan_comes_with_its_measures(self) -> None:
        verdict = judge(self.instance, self.instance, self.schedule, 0.05)
        assert verdict.adopt
        assert verdict.holds["t"].sent == {"c"}
        # With t held 10 s, and 13 s without.
        assert verdict.expected.planned == 10.0

    def test_a_plan_that_is_not_followed_has_none(self) -> None:
        verdict = judge(self.instance, self.instance, self.schedule, 0.99)
        assert (verdict.adopt, verdict.holds) == (False, {})

    def test_the_forecast_is_of_what_will_be_done(self) -> None:
        measures, expected = with_measures(self.instance, self.instance, self.schedule)
        assert expected == 10.0
        # Without the hold it takes 13 s, or else t goes elsewhere on the way.
        assert Rehearsal(self.instance, self.schedule).makespan() == 13.0
        assert expected_makespans(self.instance, self.instance, [self.schedule]) == [10.0]
        again = judge(self.instance, self.instance, self.schedule, 0.05, measures)
        assert again.measures is measures


def test_the_empty_plan_is_left_to_dask() -> None:
    instance = Instance.price(
        TaskGraph.from_tasks([], []), Cluster([Worker("a"), Worker("b", speed=2.0)])
    )
    assert not judge(instance, instance, Schedule([]), 0.05).adopt


def test_a_plan_that_loses_is_refused_by_its_worst_case() -> None:
    """Everything on the slowest worker, as Dask at worst, and over before it could be mended."""
    step = 1 / 64
    instance = chain(seconds=step)
    bad = Schedule([Assignment(f"c{i}", "w0", i * step, (i + 1) * step) for i in range(8)])
    verdict = judge(instance, instance, bad, 0.05)
    assert not verdict.adopt
    assert verdict.expected.planned == max(verdict.expected.chances)


def test_a_plan_is_judged_by_what_mending_makes_of_it() -> None:
    """Everything on the slowest worker: after a quarter of a second the fast one takes over."""
    bad = Schedule([Assignment(f"c{i}", "w0", float(i), i + 1.0) for i in range(8)])
    verdict = judge(chain(), chain(), bad, 0.05)
    # One task of 1 s on the slow worker, seven of 0.25 s on the fast one.
    assert verdict.expected.planned == 2.75
    assert verdict.adopt


def test_where_inputs_are_makes_no_worker_another_one() -> None:
    """Dask sends tasks to where their inputs are, too."""
    there = Task("there", seconds=0.0, output_bytes=1e6, eligible=("a",))
    graph = TaskGraph.from_tasks([there, Task("t", seconds=1.0)], [Edge("there", "t")])
    assert are_alike(Instance.price(graph, Cluster([Worker("a"), Worker("b")])))
