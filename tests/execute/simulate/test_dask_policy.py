"""What people set of Dask's own policy is simulated, too."""

from __future__ import annotations

import math

import dask.config
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate import simulate_default
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.settings.dask_policy import DaskPolicy

STOCK = DaskPolicy()


def price(tasks: list[Task], edges: list[Edge], cluster: Cluster) -> Instance:
    return Instance.price(TaskGraph.from_tasks(tasks, edges), cluster)


class TestSimulated:
    def fan(self) -> Instance:
        """Six tasks of 0.6 s where their input is, which is made by 0.3 s; four workers."""
        root, others = Task("root", kind="r", seconds=0.3), range(6)
        tasks = [root, *(Task(f"t{i}", kind="k", seconds=0.6) for i in others)]
        edges = [Edge("root", f"t{i}") for i in others]
        return price(tasks, edges, Cluster([Worker(f"w{i}") for i in range(4)]))

    def test_without_stealing_all_stay_where_their_input_is(self) -> None:
        alone = simulate_default(self.fan(), policy=DaskPolicy(interval=math.inf))
        assert alone.makespan == pytest.approx(0.3 + 6 * 0.6)

    @pytest.mark.parametrize("seed", range(5))
    def test_who_steals_more_often_waits_less(self, seed: int) -> None:
        """Two each in the end, at 1.5 s, where they are taken over within a hundredth."""
        often = simulate_default(self.fan(), seed=seed, policy=DaskPolicy(interval=0.01))
        assert 1.5 <= often.makespan < 1.5 + 0.02
        assert often.makespan < simulate_default(self.fan(), seed=seed, policy=STOCK).makespan

    def test_where_no_task_waits_on_the_scheduler_the_slow_worker_gets_half(self) -> None:
        """8 tasks of 1 s (fast) or 4 s (slow): 4 each, of which none is stolen, take 16 s; with
        those that wait on the scheduler, 8 s."""
        tasks = [Task(f"t{i}", kind="k", seconds=4.0) for i in range(8)]
        instance = price(tasks, [], Cluster([Worker("fast", speed=4.0), Worker("slow")]))
        assert simulate_default(instance, policy=DaskPolicy(math.inf, math.inf)).makespan == 16.0
        assert simulate_default(instance, policy=DaskPolicy(1.1, math.inf)).makespan == 8.0


class TestConfigured:
    def test_as_dask_comes(self) -> None:
        assert DaskPolicy.configured() == STOCK

    @pytest.mark.parametrize(
        ("setting", "value", "policy"),
        [
            ("worker-saturation", 2, DaskPolicy(saturation=2.0)),
            ("worker-saturation", "inf", DaskPolicy(saturation=math.inf)),
            ("worker-saturation", -1, STOCK),
            ("worker-saturation", "much", STOCK),
            ("work-stealing", False, DaskPolicy(interval=math.inf)),
            ("work-stealing-interval", "250ms", DaskPolicy(interval=0.25)),
            ("work-stealing-interval", 100, DaskPolicy(interval=0.1)),
            ("work-stealing-interval", "0s", STOCK),
            ("work-stealing-interval", "soon", STOCK),
            ("work-stealing-interval", None, STOCK),
        ],
    )
    def test_as_it_is_set(self, setting: str, value: object, policy: DaskPolicy) -> None:
        """Numbers are milliseconds, as for distributed; what means nothing is passed over."""
        with dask.config.set({f"distributed.scheduler.{setting}": value}):
            assert DaskPolicy.configured() == policy

    def test_a_simulation_asks_for_it(self) -> None:
        instance = TestSimulated().fan()
        with dask.config.set({"distributed.scheduler.work-stealing": False}):
            assert simulate_default(instance).makespan == pytest.approx(3.9)
