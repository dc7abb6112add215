"""The same placement with the longest remaining chain first."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, Schedule, check_schedule, plan
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.schedule import Assignment
from orchestrator_core.plan.steady import chains_first, remaining
from tests.strategies import random_instance


def chain_and_filler() -> Instance:
    """a (1 s) -> b (3 s), and f (2 s), all on one of two equal workers."""
    return Instance.from_arrays([[1, 1], [3, 3], [2, 2]], [(0, 1, 0)], task_names=["a", "b", "f"])


def test_the_head_of_the_longer_chain_goes_first():
    """f first makes no difference to the end on one worker, until something else waits for b."""
    filler_first = Schedule(
        [
            Assignment("f", "w0", 0, 2),
            Assignment("a", "w0", 2, 3),
            Assignment("b", "w0", 3, 6),
        ]
    )
    found = chains_first(chain_and_filler(), filler_first)
    assert {a.task: a.start for a in found.assignments} == {"a": 0, "b": 1, "f": 4}


def test_remaining_paths_count_transfers_only_between_workers():
    instance = Instance.from_arrays([[1, 1], [3, 3]], [(0, 1, 10)], seconds_per_byte=0.1)
    problem = expand(instance)
    seconds = np.array([1.0, 3.0])
    assert remaining(problem, np.array([0, 0]), seconds).tolist() == [4, 3]
    assert remaining(problem, np.array([0, 1]), seconds).tolist() == [5, 3]


@pytest.mark.parametrize("seed", range(10))
def test_it_keeps_every_place_and_every_rule(seed):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 15, 3, threads=True, counts=seed % 2 == 0, release=True)
    begin = plan(instance, Budget(seconds=0.0), planners=["heft"]).schedule
    found = chains_first(instance, begin)
    check_schedule(instance, found)
    where = {(a.task, a.instance): a.worker for a in begin.assignments}
    assert {(a.task, a.instance): a.worker for a in found.assignments} == where
