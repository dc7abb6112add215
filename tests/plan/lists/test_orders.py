"""List heuristics: the values that their papers print, and what each is good for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import (
    depth_first_order,
    optimistic_cost,
    ready_order,
    upward_rank,
)
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS, ListPlanner
from orchestrator_core.plan.lists.means import mean_link, mean_seconds
from orchestrator_core.plan.lists.orders import heft
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule
from tests.plan.papers import TOPCUOGLU_RANKS, topcuoglu
from tests.strategies import instances

BY_NAME = {planner.name: planner for planner in LIST_PLANNERS}


def schedule(planner: ListPlanner, instance: Instance) -> Schedule | None:
    return next(planner.plan(Brief(instance))).schedule


def makespan(name: str, instance: Instance) -> float:
    found = schedule(BY_NAME[name], instance)
    assert found is not None
    check_schedule(instance, found)
    return found.makespan


def test_upward_ranks_are_those_of_the_paper() -> None:
    problem = expand(topcuoglu())
    rank = upward_rank(problem, mean_seconds(problem), *mean_link(problem))
    np.testing.assert_allclose(rank, TOPCUOGLU_RANKS, atol=1e-3)


def test_heft_takes_tasks_in_the_order_of_the_paper() -> None:
    """n1 n3 n4 n2 n5 n6 n9 n7 n8 n10; n3 and n4 have equal ranks."""
    order = next(heft(expand(topcuoglu()))).order
    assert (order + 1).tolist() == [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]


@pytest.mark.parametrize(("name", "expected"), [("heft", 80.0), ("cpop", 86.0)])
def test_makespans_are_those_of_the_paper(name: str, expected: float) -> None:
    """By the first choice of each; others are other readings."""
    choice = next(iter(BY_NAME[name].choices(expand(topcuoglu()))))
    found = place(topcuoglu(), choice)
    assert isinstance(found, Schedule)
    assert found.makespan == expected


def test_serial_is_the_sum_on_the_best_worker() -> None:
    """Processor 1 does all ten tasks in 127, processor 2 in 130, processor 3 in 143."""
    assert makespan("serial", topcuoglu()) == 127.0


def test_the_optimistic_cost_table_by_hand() -> None:
    """The last task has nothing behind it. Task 7 (n7) has only the last task behind it, which
    takes 21, 7, 16, and 17 to send: from the first worker min(21, 7 + 17) = 21; from the second 7;
    from the third min(16, 7 + 17) = 16."""
    problem = expand(topcuoglu())
    table = optimistic_cost(problem, problem.seconds, *mean_link(problem))
    assert table[9].tolist() == [0.0, 0.0, 0.0]
    assert table[6].tolist() == [21.0, 7.0, 16.0]


def test_peft_looks_past_the_next_end() -> None:
    """::

        a (2 on w0, 3 on w1) -> b (10 on w0, 1 on w1), 5 to send

    HEFT takes w0 for a, since it ends there first, and then needs 2 + 5 + 1 = 8. PEFT sees that b
    belongs on w1 and puts a there too: 3 + 1 = 4, which is the optimum.
    """
    instance = Instance.from_arrays([[2, 3], [10, 1]], [(0, 1, 5)], seconds_per_byte=1.0)
    assert makespan("heft", instance) == 8.0
    assert makespan("peft", instance) == 4.0


def test_serial_wins_where_every_transfer_costs_more_than_all_work() -> None:
    """Three tasks of 1 s feed a fourth; sending takes 100 s: 4 s on one worker is the optimum."""
    edges = [(0, 3, 1), (1, 3, 1), (2, 3, 1)]
    instance = Instance.from_arrays(np.ones((4, 3)), edges, latency=100.0)
    assert makespan("serial", instance) == 4.0


def test_edf_keeps_a_deadline_that_ranks_miss() -> None:
    """One worker. The long chain has the higher rank, but the short task must end by 1 s."""
    instance = Instance.from_arrays(
        [[5.0], [5.0], [1.0]], [(0, 1, 0)], deadline=[np.inf, np.inf, 1.0]
    )
    assert schedule(BY_NAME["heft"], instance) is None
    assert makespan("edf", instance) == 11.0


def test_edf_says_that_it_needs_deadlines() -> None:
    assert "deadline" in str(BY_NAME["edf"].unsupported(topcuoglu()))


def test_a_missed_deadline_is_named() -> None:
    instance = Instance.from_arrays([[5.0], [1.0]], [], deadline=[np.inf, 1.0])
    proposal = next(BY_NAME["heft"].plan(Brief(instance)))
    assert proposal.schedule is None
    assert "'t1' would end at 6 s, after its deadline of 1 s" in proposal.note


def test_balance_leaves_a_worker_to_those_who_need_it() -> None:
    """Four tasks take 10 s on either worker, four 1 s on w1 and 10 s on w0. HEFT gives w1 away too
    early; the optimum is 24: two of the first kind and all of the second on w1, two on w0 end at
    20 and 24."""
    seconds = [[10.0, 10.0]] * 4 + [[10.0, 1.0]] * 4
    assert makespan("balance", Instance.from_arrays(seconds, [])) == 24.0


def test_balance_knows_the_price_of_each_of_many_workers() -> None:
    """Unrelated workers, more than its linear program has rows for: with those left over for free
    all tasks went to a few of them, and it took 17 times as long as HEFT."""
    seconds = np.random.default_rng(0).uniform(1.0, 20.0, (520, 130))
    instance = Instance.from_arrays(seconds, [])
    assert makespan("balance", instance) <= makespan("heft", instance)


def test_balance_takes_what_costs_nothing_somewhere_there() -> None:
    """How much dearer other workers are is no number then; it was divided by next to nothing."""
    seconds = [[0.0, 1e12, 1e12]] * 4 + [[3.0, 2.0, 1.0]] * 8
    assert makespan("balance", Instance.from_arrays(seconds, [])) <= 6.0


def test_modes_that_need_less_are_taken_where_the_stock_is_short() -> None:
    """Fast modes cost 2 credits each, slow ones 1; three credits allow no two fast ones."""
    modes = (
        Mode("fast", seconds=1.0, consumes={"c": 2}),
        Mode("slow", seconds=3.0, consumes={"c": 1}),
    )
    graph = TaskGraph.from_tasks([Task("a", modes=modes), Task("b", modes=modes)])
    instance = Instance.price(graph, Cluster([Worker("w0"), Worker("w1")], stock={"c": 2}))
    assert makespan("heft", instance) == 3.0


def test_ready_order_takes_the_most_urgent_ready_task() -> None:
    """::

    0 -> 2
    1 -> 3      urgency 1 9 5 0: 1 first, then 0 (3 has less), 2, 3
    """
    problem = expand(Instance.from_arrays(np.ones((4, 1)), [(0, 2, 0), (1, 3, 0)]))
    assert ready_order(problem, np.array([1.0, 9.0, 5.0, 0.0])).tolist() == [1, 0, 2, 3]


def test_depth_first_order_follows_outputs_to_their_use() -> None:
    """::

    0 -> 1 -> 4
    2 -> 3 -> 4      the branch of 3 is more urgent
    """
    problem = expand(
        Instance.from_arrays(np.ones((5, 1)), [(0, 1, 0), (2, 3, 0), (1, 4, 0), (3, 4, 0)])
    )
    order = depth_first_order(problem, np.array([0.0, 0.0, 1.0, 1.0, 0.0]))
    assert order.tolist() == [2, 3, 0, 1, 4]


@settings(max_examples=40)
@given(instances(any_constraints=True))
def test_every_planner_gives_a_valid_schedule_or_says_why_not(instance: Instance) -> None:
    for planner in LIST_PLANNERS:
        if planner.unsupported(instance) is not None:
            continue
        proposal = next(planner.plan(Brief(instance)))
        if proposal.schedule is None:
            assert proposal.note
        else:
            check_schedule(instance, proposal.schedule)
