"""Values of modes become values of single tasks."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import over_modes


def a_problem() -> Problem:
    """Two tasks of `a`, which has two modes, and one each of `b` and `c` with one and three."""
    modes = {
        name: tuple(Mode(str(k), seconds=1.0 + k) for k in range(count))
        for name, count in {"a": 2, "b": 1, "c": 3}.items()
    }
    tasks = [Task(name, modes=modes[name], count=1 + (name == "a")) for name in "abc"]
    return expand(Instance.price(TaskGraph.from_tasks(tasks, []), Cluster([Worker("w")])))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]])
def test_rows_of_modes_are_reduced_in_any_order_of_tasks(order: list[int]) -> None:
    problem = a_problem()
    problem = problem._replace(mode_begin=problem.mode_begin[order])
    values = np.array([[5.0, 1], [4, 2], [9, 9], [7, 3], [8, 0], [6, 4]])
    least = np.array([[4.0, 1], [4, 1], [9, 9], [6, 0]])
    np.testing.assert_array_equal(over_modes(problem, np.minimum, values), least[order])
