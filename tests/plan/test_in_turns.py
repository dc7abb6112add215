"""in_turns: stretches of the depth-first order, shared out by speed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.in_turns import ROUNDS, in_turns, shared_out
from tests.strategies import instances


def independent(n: int, seconds: list[float]) -> Instance:
    return Instance.from_arrays(np.tile(seconds, (n, 1)), [])


class TestSharedOut:
    @pytest.mark.parametrize("rounds", ROUNDS)
    def test_all_workers_are_done_at_about_the_same_time(self, rounds: int) -> None:
        """800 equal tasks on speeds 4, 2, 1 and 1: 400, 200, 100 and 100 of them."""
        instance = independent(800, [0.25, 0.5, 1.0, 1.0])
        problem = expand(instance)
        order = np.arange(800)
        worker = shared_out(order, best_seconds(problem), problem, rounds)
        assert np.abs(np.bincount(worker) - [400, 200, 100, 100]).max() <= 4
        # Each stretch is one piece of the order.
        assert np.count_nonzero(np.diff(worker)) == 4 * rounds - 1

    def test_threads_count_like_speed(self) -> None:
        instance = Instance.from_arrays(np.ones((80, 2)), [], threads=[3, 1])
        problem = expand(instance)
        worker = shared_out(np.arange(80), best_seconds(problem), problem, 1)
        assert np.bincount(worker).tolist() == [60, 20]

    def test_where_a_worker_may_not_run_a_task_the_decoder_chooses(self) -> None:
        seconds = np.ones((40, 2))
        seconds[::2, 0] = np.inf
        problem = expand(Instance.from_arrays(seconds, []))
        worker = shared_out(np.arange(40), best_seconds(problem), problem, 1)
        assert set(worker[::2].tolist()) <= {-1, 1}
        assert (worker == -1).any()


class TestInTurns:
    @given(instance=instances(any_constraints=True))
    def test_all_keep_the_rules(self, instance: Instance) -> None:
        for schedule in in_turns(instance):
            check_schedule(instance, schedule)

    def test_a_graph_without_tasks(self) -> None:
        assert list(in_turns(Instance.from_arrays(np.zeros((0, 2)), []))) == []
