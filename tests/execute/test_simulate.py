"""replay, simulate_placed and simulate_default: small cases worked out by hand, and laws."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInstance, InvalidSchedule
from orchestrator_core.execute.simulate import replay, simulate_default, simulate_placed
from orchestrator_core.execute.simulate.unplanned import Unplanned
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_core.settings.dask_policy import DaskPolicy
from tests.strategies import instances, serial_schedule

# Memory, deadlines and stock are what simulations do not know.
KNOWN: dict[str, Any] = {
    "threads": True,
    "encode": True,
    "resources": True,
    "counts": True,
    "release": True,
    "modes": True,
    "eligible": True,
    "checkpoints": True,
}
SEEDS = st.integers(0, 10_000)


def price(tasks: list[Task], edges: list[Edge], cluster: Cluster) -> Instance:
    return Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)


def where(schedule: Schedule) -> dict[str, str]:
    return {a.task: a.worker for a in schedule.assignments}


def starts(schedule: Schedule) -> dict[str, float]:
    return {a.task: a.start for a in schedule.assignments}


class TestReplay:
    """``a`` (2 s, 4 bytes) feeds ``b`` (3 s) on the other worker; 4 bytes take 1 s to encode and
    2.5 s to travel. ``c`` (1 s) needs nothing."""

    CLUSTER = Cluster(
        [Worker("w1"), Worker("w2")], Link(latency=0.5, bandwidth=2.0, encode_rate=4.0)
    )
    INSTANCE = price(
        [Task("a", seconds=2.0, output_bytes=4.0), Task("b", seconds=3.0), Task("c", seconds=1.0)],
        [Edge("a", "b")],
        CLUSTER,
    )
    PLAN = Schedule(
        [
            Assignment("a", "w1", 0.0, 2.0),
            Assignment("c", "w1", 3.0, 4.0),
            Assignment("b", "w2", 5.5, 8.5),
        ],
        [Transfer("a", "w1", "w2", 2.0, 3.0, 5.5, 4.0)],
    )

    def test_a_plan_without_idle_time_is_reproduced(self) -> None:
        check_schedule(self.INSTANCE, self.PLAN)
        assert replay(self.INSTANCE, self.PLAN) == self.PLAN

    def test_idle_time_goes_unless_it_is_held(self) -> None:
        late = Schedule(
            [replace(a, start=a.start + 1, end=a.end + 1) for a in self.PLAN.assignments],
            [
                replace(t, start=t.start + 1, encoded=t.encoded + 1, end=t.end + 1)
                for t in self.PLAN.transfers
            ],
        )
        assert replay(self.INSTANCE, late) == self.PLAN
        assert replay(self.INSTANCE, late, hold=True) == late

    def test_a_slower_task_delays_what_waits_for_it(self) -> None:
        # a takes 5 s: encoded at 6 s, there at 8.5 s; c keeps its place behind the encoding.
        slow = self.INSTANCE.seconds.copy()
        slow[0] = 5.0
        late = replay(self.INSTANCE, self.PLAN, slow)
        assert starts(late) == {"a": 0.0, "c": 6.0, "b": 8.5}
        assert late.makespan == 11.5

    def test_a_faster_task_lets_all_begin_earlier(self) -> None:
        assert replay(self.INSTANCE, self.PLAN, self.INSTANCE.seconds / 2).makespan == 6.0

    def test_the_planned_order_is_kept(self) -> None:
        """x waits for its release at 5 s; y, planned after it, does not overtake."""
        tasks = [Task("x", seconds=1.0, release=5.0), Task("y", seconds=1.0)]
        instance = price(tasks, [], Cluster([Worker("w")]))
        plan = Schedule([Assignment("x", "w", 5.0, 6.0), Assignment("y", "w", 6.0, 7.0)])
        assert starts(replay(instance, plan)) == {"x": 5.0, "y": 6.0}
        assert starts(simulate_placed(instance, plan)) == {"x": 5.0, "y": 0.0}

    def test_a_paused_task_keeps_its_pieces(self) -> None:
        tasks = [Task("a", seconds=4.0, checkpoints=(0.25,)), Task("b", seconds=2.0)]
        instance = price(tasks, [], Cluster([Worker("w")]))
        rows = [
            Assignment("a", "w", 0.0, 6.0, segments=((0.0, 1.0), (3.0, 6.0))),
            Assignment("b", "w", 1.0, 3.0),
        ]
        plan = Schedule(rows)
        check_schedule(instance, plan)
        assert replay(instance, plan) == plan
        twice = replay(instance, plan, instance.seconds * 2)
        assert twice.assignments[0].segments == ((0.0, 2.0), (6.0, 12.0))

    def test_what_is_no_schedule_of_the_instance(self) -> None:
        with pytest.raises(InvalidSchedule, match="task 'b' is not assigned"):
            replay(self.INSTANCE, Schedule(list(self.PLAN.assignments)[:2], self.PLAN.transfers))
        with pytest.raises(InvalidSchedule, match="no transfer of it"):
            replay(self.INSTANCE, Schedule(self.PLAN.assignments))

    def test_durations_that_are_none(self) -> None:
        with pytest.raises(InvalidInstance, match="shape"):
            replay(self.INSTANCE, self.PLAN, [[1.0]])
        bad = self.INSTANCE.seconds.copy()
        bad[1, 1] = np.nan
        for simulate in (replay, simulate_placed):
            with pytest.raises(InvalidInstance, match="task 'b' takes nan s on 'w2'"):
                simulate(self.INSTANCE, self.PLAN, bad)

    def test_the_empty_plan(self) -> None:
        instance = price([], [], Cluster([Worker("w")]))
        assert len(replay(instance, Schedule([]))) == 0
        assert len(simulate_default(instance)) == 0

    @given(instance=instances(**KNOWN), seed=SEEDS)
    def test_nothing_begins_later_than_planned(self, instance: Instance, seed: int) -> None:
        plan = serial_schedule(instance, np.random.default_rng(seed))
        done = replay(instance, plan)
        check_schedule(instance, done)
        assert (done.start <= plan.start + 1e-9).all()
        assert done.makespan <= plan.makespan + 1e-9

    @given(instance=instances(**KNOWN), seed=SEEDS)
    def test_what_is_as_early_as_can_be_stays(self, instance: Instance, seed: int) -> None:
        plan = replay(instance, serial_schedule(instance, np.random.default_rng(seed)))
        again = replay(instance, plan)
        np.testing.assert_allclose(again.start, plan.start, atol=1e-9)
        np.testing.assert_allclose(again.end, plan.end, atol=1e-9)
        np.testing.assert_allclose(again.transfer_end, plan.transfer_end, atol=1e-9)

    @given(instance=instances(memory=True, **KNOWN))
    def test_held_to_its_times_any_plan_is_reproduced(self, instance: Instance) -> None:
        plan = serial_schedule(instance)
        done = replay(instance, plan, hold=True)
        check_schedule(instance, done)
        np.testing.assert_allclose(done.start, plan.start, atol=1e-9)
        np.testing.assert_allclose(done.transfer_start, plan.transfer_start, atol=1e-9)

    @given(instance=instances(**KNOWN), seed=SEEDS)
    def test_with_other_durations_all_rules_are_kept(self, instance: Instance, seed: int) -> None:
        rng = np.random.default_rng(seed)
        plan = serial_schedule(instance, rng)
        actual = instance.seconds * rng.lognormal(0.0, 0.5, instance.seconds.shape)
        happened = Instance(instance.graph, instance.cluster, actual)
        for simulate in (replay, simulate_placed):
            done = simulate(instance, plan, actual)
            check_schedule(happened, done)
            assert where(done) == where(plan)


class TestPlaced:
    def test_a_worker_fetches_only_when_all_inputs_are_done(self) -> None:
        """x is done at 1 s and y at 5 s; z waits for both, so x travels only from 5 s on."""
        tasks = [
            Task("x", seconds=1.0, output_bytes=3.0),
            Task("y", seconds=5.0),
            Task("z", seconds=1.0),
        ]
        cluster = Cluster([Worker("w1"), Worker("w2")], Link(bandwidth=1.0))
        instance = price(tasks, [Edge("x", "z"), Edge("y", "z")], cluster)
        plan = Schedule(
            [
                Assignment("x", "w1", 0.0, 1.0),
                Assignment("y", "w2", 0.0, 5.0),
                Assignment("z", "w2", 5.0, 6.0),
            ],
            [Transfer("x", "w1", "w2", 1.0, 1.0, 4.0, 3.0)],
        )
        check_schedule(instance, plan)
        assert replay(instance, plan).makespan == 6.0
        assert simulate_placed(instance, plan).makespan == 9.0

    def test_the_plan_ranks_what_is_ready(self) -> None:
        tasks = [Task("x", seconds=1.0), Task("y", seconds=1.0), Task("z", seconds=1.0)]
        instance = price(tasks, [], Cluster([Worker("w")]))
        rows = [Assignment(n, "w", t, t + 1.0) for n, t in (("z", 0.0), ("x", 1.0), ("y", 2.0))]
        assert starts(simulate_placed(instance, Schedule(rows))) == {"z": 0.0, "x": 1.0, "y": 2.0}


class TestDefault:
    FAST_AND_SLOW = Cluster([Worker("fast", speed=4.0), Worker("slow")])

    def test_many_alike_tasks_go_to_whoever_has_room(self) -> None:
        """8 tasks of 1 s (fast) or 4 s (slow), two of each given at the start.

        The slow worker keeps its second task, from 4 s to 8 s, while the fast one does the other
        six by 6 s. Seven on the fast worker would end at 7 s: Dask knows no speed.
        """
        tasks = [Task(f"t{i}", kind="k", seconds=4.0) for i in range(8)]
        done = simulate_default(price(tasks, [], self.FAST_AND_SLOW))
        assert sorted(where(done).values()) == ["fast"] * 6 + ["slow"] * 2
        assert done.makespan == 8.0

    def test_a_chain_stays_where_its_first_task_landed(self) -> None:
        """Its inputs are there, so the fast worker is never considered: 5 x 4 s."""
        tasks = [Task(f"t{i}", seconds=4.0) for i in range(5)]
        edges = [Edge(f"t{i}", f"t{i + 1}") for i in range(4)]
        slow_first = Cluster(self.FAST_AND_SLOW.workers[::-1])
        done = simulate_default(price(tasks, edges, slow_first))
        assert set(where(done).values()) == {"slow"}
        assert done.makespan == 20.0
        assert len(done.transfers) == 0

    def test_where_it_lands_is_chance(self) -> None:
        tasks = [Task(f"t{i}", seconds=4.0) for i in range(5)]
        edges = [Edge(f"t{i}", f"t{i + 1}") for i in range(4)]
        instance = price(tasks, edges, self.FAST_AND_SLOW)
        assert {simulate_default(instance, seed=s).makespan for s in range(10)} == {5.0, 20.0}

    def test_a_chain_beside_fillers_is_a_lottery(self) -> None:
        """16 x 0.8 s at speed 4, 2 or 1. Real runs of this took 4.3, 7.3 and 13.9 s.

        On the fast worker the chain takes 3.2 s, and then the fillers are what takes longest: all
        work together is 32.8 s at speed 1, on workers of 8 in all.
        """
        tasks = [Task(f"chain-{i}", kind="chain", seconds=0.8) for i in range(16)]
        tasks += [Task(f"fill-{i}", kind="fill", seconds=0.2) for i in range(100)]
        edges = [Edge(f"chain-{i}", f"chain-{i + 1}") for i in range(15)]
        cluster = Cluster([Worker(f"w{i}", speed=s) for i, s in enumerate((4.0, 2.0, 1.0, 1.0))])
        instance = price(tasks, edges, cluster)
        makespans = [simulate_default(instance, seed=s).makespan for s in range(12)]
        assert {round(seconds) for seconds in makespans} == {4, 7, 13}
        assert min(makespans) >= 32.8 / 8

    def test_what_happens_is_not_what_dask_believes(self) -> None:
        """Two tasks each: 2 s. If one needs 3 s a task, the other takes its second one over, when
        the scheduler's timer goes off between 2 and 3 s; unless that asks for the running one."""
        tasks = [Task(f"t{i}", kind=f"k{i}", seconds=1.0) for i in range(4)]
        dask = Unplanned(price(tasks, [], Cluster([Worker("w1"), Worker("w2")])))
        assert dask.run().makespan == 2.0
        runs = [dask.run(seed, np.array([[1.0, 3.0]] * 4)) for seed in range(20)]
        stolen = [run.makespan for run in runs if run.makespan < 6.0]
        assert {run.makespan for run in runs} - set(stolen) == {6.0}
        assert 3.0 < min(stolen) < max(stolen) < 4.0
        assert dask.run(seconds=np.array([[3.0, 3.0]] * 4)).makespan == 6.0
        assert dask.run().makespan == 2.0

    @pytest.mark.parametrize(
        ("threads", "tasks", "rounds"), [((1, 8), 40, 6), ((2, 8), 60, 7), ((4, 4), 40, 5)]
    )
    def test_each_worker_that_ends_a_task_gets_the_next(
        self, threads: tuple[int, ...], tasks: int, rounds: int
    ) -> None:
        """The scheduler hears of one end at a time, when all other workers are full: who has few
        threads, and one task that waits for them, keeps it. Real runs took that many rounds: 6.03
        to 6.06, 7.18 to 7.24 and 5.1 to 5.2."""
        cluster = Cluster([Worker(f"w{i}", threads=n) for i, n in enumerate(threads)])
        alike = [Task(f"t{i}", kind="k", seconds=1.0) for i in range(tasks)]
        assert simulate_default(price(alike, [], cluster)).makespan == rounds

    @pytest.mark.parametrize("threads", [(1, 8), (1, 1, 8), (2, 2, 12)])
    def test_without_inputs_it_goes_where_a_thread_is_free(self, threads: tuple[int, ...]) -> None:
        """Not enough of a kind to wait on the scheduler, and a thread for each of them."""
        cluster = Cluster([Worker(f"w{i}", threads=n) for i, n in enumerate(threads)])
        tasks = [Task(f"t{i}", kind=f"k{i % 2}", seconds=1.0) for i in range(sum(threads) - 2)]
        instance = price(tasks, [], cluster)
        assert {simulate_default(instance, seed=s).makespan for s in range(4)} == {1.0}

    def test_of_many_workers_with_room_it_goes_to_the_next(self) -> None:
        """To look at all would take the scheduler too long: the first 24 tasks go to each of 24
        workers in turn, and the next 12 to some of them again."""
        cluster = Cluster([Worker(f"w{i}", threads=2) for i in range(24)])
        tasks = [Task(f"t{i}", kind=f"k{i % 3}", seconds=1.0) for i in range(36)]
        done = where(simulate_default(price(tasks, [], cluster)))
        assert [done[f"t{i}"] for i in range(24)] == [f"w{i}" for i in range(24)]
        assert len(set(done.values())) == 24

    def test_what_waits_is_stolen_once_a_second(self) -> None:
        """Six tasks of 0.6 s where their input is, which is made by 0.3 s: with four workers they
        would end at 1.5 s. Sixteen real runs took 1.9 to 2.7 s, 2.2 in the mean."""
        root, others = Task("root", kind="r", seconds=0.3), range(6)
        tasks = [root, *(Task(f"t{i}", kind="k", seconds=0.6) for i in others)]
        edges = [Edge("root", f"t{i}") for i in others]
        cluster = Cluster([Worker(f"w{i}") for i in range(4)])
        instance = price(tasks, edges, cluster)
        done = simulate_default(instance)
        home = where(done)["root"]
        assert all(row.worker == home for row in done.assignments if row.start < 0.5)
        assert {row.worker for row in done.assignments if row.start == 0.5} == {*cluster.names} - {
            home
        }
        ends = [simulate_default(instance, seed=s).makespan for s in range(40)]
        assert 1.9 < min(ends) < max(ends) < 2.75
        assert 2.1 < sum(ends) / len(ends) < 2.4

    def test_a_task_goes_to_its_largest_input(self) -> None:
        tasks = [
            Task("small", seconds=1.0, output_bytes=1.0),
            Task("large", seconds=1.0, output_bytes=9.0),
            Task("join", seconds=1.0),
        ]
        edges = [Edge("small", "join"), Edge("large", "join")]
        cluster = Cluster([Worker("w1"), Worker("w2")], Link(bandwidth=1.0))
        done = simulate_default(price(tasks, edges, cluster))
        assert where(done)["small"] != where(done)["large"] == where(done)["join"]
        # Both inputs are done at 1 s; then 1 byte travels for 1 s.
        assert starts(done)["join"] == 2.0

    FAN = (
        [Task("root", seconds=1.0), *(Task(f"t{i}", seconds=1.0) for i in range(6))],
        [Edge("root", f"t{i}") for i in range(6)],
    )

    def test_idle_workers_steal(self) -> None:
        """All six consumers are given to the worker that holds root; the other takes some."""
        done = simulate_default(price(*self.FAN, Cluster([Worker("w1"), Worker("w2")])))
        taken = [w for t, w in where(done).items() if w != where(done)["root"]]
        assert 2 <= len(taken) <= 3
        assert done.makespan <= 5.2

    def test_nobody_steals_what_is_believed_to_be_short(self) -> None:
        """A victim has more than 0.2 believed seconds; these six have 0.06."""
        instance = price(*self.FAN, Cluster([Worker("w1"), Worker("w2")]))
        believed = {f"t{i}": 0.01 for i in range(6)}
        done = simulate_default(instance, believed)
        assert len(set(where(done).values())) == 1
        assert done.makespan == 7.0

    def test_nobody_steals_what_is_dear_to_move(self) -> None:
        tasks = [replace(self.FAN[0][0], output_bytes=1e6), *self.FAN[0][1:]]
        cluster = Cluster([Worker("w1"), Worker("w2")], Link(bandwidth=1.0))
        done = simulate_default(price(tasks, self.FAN[1], cluster))
        assert len(set(where(done).values())) == 1

    def test_a_restricted_task_goes_where_it_may(self) -> None:
        tasks = [Task("a", seconds=1.0), Task("b", seconds=1.0, resources={"GPU": 1})]
        cluster = Cluster([Worker("w1"), Worker("w2", resources={"GPU": 1})], Link(latency=0.5))
        for seed in range(5):
            done = simulate_default(price(tasks, [Edge("a", "b")], cluster), seed=seed)
            assert where(done)["b"] == "w2"

    def test_the_first_mode_is_taken(self) -> None:
        modes = (Mode("one", seconds=8.0), Mode("two", threads=2, seconds=5.0))
        done = simulate_default(
            price([Task("a", modes=modes)], [], Cluster([Worker("w", threads=2)]))
        )
        assert done.makespan == 8.0
        assert done.assignments[0].mode == 0

    def test_depth_first(self) -> None:
        """a1 -> b1, a2 -> b2 and a3 -> b3 on one worker, which begins a2 before it hears of b1; but
        b1 and b2 come before a3."""
        tasks = [Task(n, seconds=1.0) for n in ("a1", "a2", "a3", "b1", "b2", "b3")]
        edges = [Edge(f"a{i}", f"b{i}") for i in (1, 2, 3)]
        done = simulate_default(price(tasks, edges, Cluster([Worker("w")])))
        order = ("a1", "a2", "b1", "b2", "a3", "b3")
        assert starts(done) == {name: float(i) for i, name in enumerate(order)}

    def test_a_worker_goes_on_with_what_it_has_before_it_hears_of_more(self) -> None:
        """30 tasks of 0.5 s and a chain of 1, 4 and 4 s on workers of 3 threads and of 1. Real runs
        took 9.06, 9.07, 9.53, 9.53 and 9.55 s: where another task was at hand when the first
        of the chain ended, the second one waited for that, and none waited for all the others."""
        tasks = [Task(f"chain-{i}", kind=f"c{i}", seconds=s) for i, s in enumerate((1.0, 4.0, 4.0))]
        tasks += [Task(f"clean-{i}", kind="clean", seconds=0.5) for i in range(30)]
        edges = [Edge("chain-0", "chain-1"), Edge("chain-1", "chain-2")]
        cluster = Cluster([Worker("big", threads=3), Worker("small")])
        instance = price(tasks, edges, cluster)
        found = {round(simulate_default(instance, seed=s).makespan, 2) for s in range(8)}
        assert found == {9.0, 9.5}

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
    def test_beliefs_that_are_none(self, bad: float) -> None:
        instance = price([Task("a", seconds=1.0)], [], Cluster([Worker("w")]))
        with pytest.raises(InvalidInstance, match="believed seconds of kind 'a' are"):
            simulate_default(instance, {"a": bad})

    @given(instance=instances(**KNOWN), seed=SEEDS)
    def test_all_rules_that_dask_knows_are_kept(self, instance: Instance, seed: int) -> None:
        done = simulate_default(instance, seed=seed)
        check_schedule(instance, done)
        assert simulate_default(instance, seed=seed) == done

    @given(instance=instances(max_tasks=40, counts=True, encode=True, threads=True), seed=SEEDS)
    def test_replaying_the_default_is_no_slower(self, instance: Instance, seed: int) -> None:
        done = simulate_default(instance, seed=seed)
        assert replay(instance, done).makespan <= done.makespan + 1e-9


class TestThere:
    """What was computed before: a task without length where it is."""

    def instance(self) -> Instance:
        """Six inputs on one worker with a thread, each with a reader that takes 1 s there and 0.1 s
        on the other worker, to which an input takes 0.2 s."""
        tasks = [
            Task(f"in{i}", "in", seconds=0.0, output_bytes=2.0, eligible=("slow",))
            for i in range(6)
        ]
        tasks += [Task(f"t{i}", "t", seconds=1.0) for i in range(6)]
        edges = [Edge(f"in{i}", f"t{i}") for i in range(6)]
        workers = [Worker("slow"), Worker("fast", speed=10.0)]
        return price(tasks, edges, Cluster(workers, Link(0.0, 10.0)))

    def test_nothing_waits_for_it_behind_what_runs(self) -> None:
        """Planned in pairs, on one thread: all six are there at 0, and who reads them elsewhere
        waits for the way alone."""
        instance = self.instance()
        rows = []
        for i in range(6):
            rows.append(Assignment(f"in{i}", "slow", float(i), float(i)))
            rows.append(Assignment(f"t{i}", "slow" if i == 0 else "fast", float(i), i + 1.0))
        came = starts(simulate_placed(instance, Schedule(rows)))
        assert [came[f"in{i}"] for i in range(6)] == [0.0] * 6
        assert came["t0"] == 0.0
        assert [came[f"t{i}"] for i in range(1, 6)] == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.6])

    def test_dask_sends_its_readers_to_where_it_is(self) -> None:
        """Until others steal them: all of them know of their inputs at once."""
        never = DaskPolicy(interval=math.inf)
        alone = simulate_default(self.instance(), policy=never)
        assert alone.makespan == pytest.approx(6.0)
        assert {a.start for a in alone.assignments if a.task.startswith("in")} == {0.0}
        check_schedule(self.instance(), alone)
        assert simulate_default(self.instance()).makespan < 6.0
