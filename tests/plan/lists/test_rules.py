"""Dynamic list heuristics: what each of them picks, by hand, and what holds for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.engine.decoder import Choice, Decoded, decode
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import (
    optimistic_cost,
    optimistic_cost_by_link,
    strict_ends,
)
from orchestrator_core.plan.lists import dynamic, immediate, lookahead, paths
from orchestrator_core.plan.lists.lines import Lines, balance
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.lists.means import mean_link
from orchestrator_core.plan.lists.rule import Rule
from tests.plan.papers import topcuoglu
from tests.random_instances import random_instance

INDEPENDENT = Instance.from_arrays([[4.0, 9.0], [3.0, 4.0], [8.0, 20.0]], [])
"""Three tasks without edges on two workers."""


def first(choices: object) -> Choice:
    return next(iter(choices))  # type: ignore[call-overload]


def decoded(instance: Instance, choice: Choice) -> Decoded:
    found = decode(expand(instance), choice)
    assert isinstance(found, Decoded)
    return found


def makespan(instance: Instance, choice: Choice) -> float:
    return float(decoded(instance, choice).end.max())


def test_min_min_takes_what_ends_first() -> None:
    """t1 ends at 3 on w0; then t0 at 3 + 4 = 7 (9 on w1); then t2 at 15 (20 on w1)."""
    choice = first(dynamic.min_min(expand(INDEPENDENT)))
    assert choice.order.tolist() == [1, 0, 2]
    assert makespan(INDEPENDENT, choice) == 15.0


def test_max_min_takes_what_ends_last() -> None:
    """t2 on w0 ends at 8; then t0 ends at 9 on w1, t1 at 4: t0; then t1 at 11 on w0."""
    choice = first(dynamic.max_min(expand(INDEPENDENT)))
    assert choice.order.tolist() == [2, 0, 1]
    assert choice.worker is not None
    assert choice.worker.tolist() == [1, 0, 0]
    assert makespan(INDEPENDENT, choice) == 11.0


def test_sufferage_takes_what_loses_most() -> None:
    """t2 would lose 12 s, t0 5 s, t1 1 s; then w0 is busy until 8: t0 goes to w1 (9 or 12), and t1
    loses 2 (11 or 13)."""
    choice = first(dynamic.sufferage(expand(INDEPENDENT)))
    assert choice.order.tolist()[0] == 2
    assert makespan(INDEPENDENT, choice) <= 12.0


def test_batches_wait_for_each_other() -> None:
    """::

        0 (1 s) -> 2 (1 s)      1 (9 s)

    Min-Min takes 0, 2, 1; batch by batch 2 has to wait for 1.
    """
    instance = Instance.from_arrays([[1.0], [9.0], [1.0]], [(0, 2, 0)])
    orders = [choice.order.tolist() for choice in dynamic.min_min(expand(instance))]
    assert orders == [[0, 2, 1], [0, 1, 2]]


def test_etf_takes_the_earliest_start_and_then_the_higher_rank() -> None:
    """0 and 1 can start at once; 1 has more behind it, so it is first."""
    instance = Instance.from_arrays([[2.0], [1.0], [5.0]], [(1, 2, 0)])
    assert first(dynamic.etf(expand(instance))).order.tolist()[0] == 1


def test_dls_gives_the_schedule_of_the_heft_paper() -> None:
    """Topcuoglu, Hariri and Wu (2002) report 91 for DLS on their example, 80 for HEFT."""
    assert makespan(topcuoglu(), first(dynamic.dls(expand(topcuoglu())))) == 91.0


def test_olb_looks_at_nothing_but_when_workers_are_free() -> None:
    """t0 on w1, since both are free and it ends first there; t1 on w0, free at 0, although w1 would
    end it at 2; t2 on w1, free at 1, although w0 would do it in no time."""
    instance = Instance.from_arrays([[9.0, 1.0], [9.0, 1.0], [0.1, 9.0]], [])
    assert first(immediate.olb(expand(instance))).worker.tolist() == [1, 0, 1]  # type: ignore[union-attr]


def test_met_looks_at_nothing_but_durations() -> None:
    instance = Instance.from_arrays([[2.0, 1.0]] * 4, [])
    assert first(immediate.met(expand(instance))).worker.tolist() == [1] * 4  # type: ignore[union-attr]


def test_fcp_compares_two_workers() -> None:
    """t0 runs on w2; its consumer goes there or to the first free one, w0, though w1 would be best:
    0.5 s, which it could start at 2.1."""
    links = np.array([[0.0, 0.1, 5.0], [0.1, 0.0, 0.1], [5.0, 0.1, 0.0]])
    instance = Instance.from_arrays(
        [[np.inf, np.inf, 2.0], [3.0, 0.5, 4.0]], [(0, 1, 1.0)], seconds_per_byte=links
    )
    assert first(immediate.fcp(expand(instance))).worker.tolist() == [2, 2]  # type: ignore[union-attr]


def test_hbmct_moves_a_task_off_the_worker_that_ends_last() -> None:
    """Each of four tasks of 2 s would end first on w0 (w1 takes 3 s). All there would end at 8;
    moved one by one: three on w0 end at 6, one on w1 at 3; or two and two, 4 and 6."""
    instance = Instance.from_arrays([[2.0, 3.0]] * 4, [])
    assert makespan(instance, first(dynamic.hbmct(expand(instance)))) == 6.0


def test_lines_are_balanced_no_longer_than_looks_are_left() -> None:
    """300 tasks in the line of the first lane, and none that would end sooner on the other. All of
    them were tried whatever was left: `hbmct` took 10 s for 100,000 tasks on two workers."""
    n, looks = 300, 1_000
    seconds = np.repeat([[1.0, 1e6]], n, axis=0)
    waiting = np.array([np.arange(n), np.zeros(n, dtype=np.int64)])
    lines = Lines(
        seconds=seconds,
        owner=np.arange(2),
        ready=np.zeros((n, 2)),
        mean=np.zeros(n),
        task=waiting,
        length=np.array([n, 0]),
        free=np.zeros(2),
        finish=np.array([float(n), 0.0]),
    )
    with interpreting():
        left = balance(lines, looks)
    assert left > -10 * n
    assert lines.length.tolist() == [n, 0]


def test_the_table_by_link_is_that_of_means_where_links_are_equal() -> None:
    problem = expand(topcuoglu())
    by_mean = optimistic_cost(problem, problem.seconds, *mean_link(problem))
    by_link = optimistic_cost_by_link(problem, problem.seconds)
    np.testing.assert_array_equal(by_link, by_mean)


def test_strict_ends_follow_the_favourite_worker() -> None:
    """0 ends first on w0, at 2; its output is on w1 at 2 + 5; 1 takes 9 on w0, 1 on w1: 8 there."""
    instance = Instance.from_arrays([[2.0, 3.0], [9.0, 1.0]], [(0, 1, 5)], seconds_per_byte=1.0)
    problem = expand(instance)
    start, end = strict_ends(problem, best_seconds(problem))
    assert start.tolist() == [0.0, 7.0]
    assert end.tolist() == [2.0, 8.0]


@pytest.mark.parametrize("seed", range(4))
def test_insertion_never_ends_later_than_the_rule_foresaw(seed: int) -> None:
    """With the order and the workers of a rule, no task starts later where gaps may be used."""
    instance = random_instance(np.random.default_rng(seed), 25, 4, ccr=[0.1, 1, 2, 5][seed])
    problem = expand(instance)
    for planner in LIST_PLANNERS:
        for choice in planner.choices(problem):
            if choice.worker is None or (choice.worker < 0).any():
                continue
            appended = decoded(instance, replace(choice, in_order=True))
            inserted = decoded(instance, choice)
            assert (inserted.start <= appended.start * (1 + 1e-12) + 1e-12).all(), planner.name


@pytest.mark.parametrize("flag", ["threads", "memory", "resources", "modes", "counts", "encode"])
def test_every_choice_is_complete_under_every_constraint(flag: str) -> None:
    instance = random_instance(np.random.default_rng(3), 12, 3, **{flag: True})
    problem = expand(instance)
    position = np.empty(problem.n_tasks, dtype=np.int64)
    consumer = np.repeat(np.arange(problem.n_tasks), np.diff(problem.in_ptr))
    for planner in LIST_PLANNERS:
        for choice in planner.choices(problem):
            assert sorted(choice.order.tolist()) == list(range(problem.n_tasks)), planner.name
            position[choice.order] = np.arange(problem.n_tasks)
            assert (position[problem.in_task] < position[consumer]).all(), planner.name


def test_tasks_of_several_threads_wait_for_all_of_them() -> None:
    """Worker of 3 threads. 0 and 1 take two each: one after the other; 2 takes one, beside 0."""
    graph = Instance.from_arrays([[4.0], [4.0], [4.0]], [], threads=[3])
    problem = expand(graph)._replace(threads=_frozen([2, 2, 1]))
    choice = Rule(start=-1.0, seconds=0.0).choice(problem, np.array([3.0, 2.0, 1.0]))
    assert choice.order.tolist() == [0, 2, 1]


def test_a_wide_worker_has_enough_threads() -> None:
    """As many threads as tasks: Min-Min starts all at once, the shortest first."""
    instance = Instance.from_arrays([[3.0], [1.0], [2.0]], [], threads=[3])
    assert first(dynamic.min_min(expand(instance))).order.tolist() == [1, 2, 0]


def test_chains_stay_together() -> None:
    """Two chains of three, 9 s and 6 s on w0, which is twice as fast as w1; transfers are short.
    The longer one takes w0 until 9, the shorter one w1; its last task finds w0 free: 9 + 2 = 11."""
    seconds = [[3.0, 6.0], [2.0, 4.0]] * 3
    edges = [(0, 2, 1), (2, 4, 1), (1, 3, 1), (3, 5, 1)]
    instance = Instance.from_arrays(seconds, edges, latency=0.1)
    found = decoded(instance, first(lookahead.chains(expand(instance))))
    assert found.worker.tolist() == [0, 1, 0, 1, 0, 0]
    assert found.end.max() == 11.0


@pytest.mark.parametrize("heuristic", [paths.cpop, lookahead.peft])
def test_two_readings_of_a_heuristic_are_two_choices(heuristic: object) -> None:
    rng = np.random.default_rng(5)
    problem = expand(random_instance(rng, 15, 4))
    assert len(list(heuristic(problem))) == 2  # type: ignore[operator]


def _frozen(values: list[int]) -> np.ndarray:
    array = np.array(values, dtype=np.int64)
    array.flags.writeable = False
    return array
