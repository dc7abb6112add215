"""Cuts: what they refute is so, say the oracle and the checker; what they decide is a schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, InvalidCertificate, UnsupportedInstance
from orchestrator_core.graph import Mode, Task, Worker
from orchestrator_core.plan.bounds.certificate import Case, Certificate, Refutation
from orchestrator_core.plan.bounds.check_certificate import verify
from orchestrator_core.plan.bounds.cuts import refuter
from orchestrator_core.plan.bounds.cuts.alone import never_at_once
from orchestrator_core.plan.bounds.cuts.attempt import Attempt, first_credit
from orchestrator_core.plan.bounds.cuts.descent import DECIDED, GOES_ON, REFUTED
from orchestrator_core.plan.bounds.cuts.node import Node, nodes, terms_of
from orchestrator_core.plan.bounds.cuts.orders import raise_members
from orchestrator_core.plan.bounds.cuts.refuter import Refuter
from orchestrator_core.plan.bounds.ladder import Ladder
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import initial
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import by_start
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.time_indexed import optimal_makespan
from tests.plan.known import instance_of
from tests.plan.tiny import tiny_instances

MOST_NODES = 20_000


def attempted(instance: Instance, limit: float, most: int = MOST_NODES) -> Attempt:
    problem = expand(instance)
    relaxation = Relaxation.of(problem)
    terms = terms_of(relaxation, never_at_once(instance, problem))
    state = initial(relaxation, limit)
    attempt = Attempt(relaxation, terms, state, limit, first_credit(relaxation))
    while attempt.status == GOES_ON and attempt.nodes < most:
        attempt.go_on(50)
    return attempt


def slow_links(seed: int, tasks: int = 12, workers: int = 3) -> Instance:
    """A random graph in which a transfer takes about four times as long as a task."""
    rng = np.random.default_rng(seed)
    edges = [
        (int(q), t, float(rng.integers(4, 13)))
        for t in range(1, tasks)
        for q in sorted(rng.choice(np.arange(max(0, t - 5), t), min(t, 2), replace=False))
    ]
    seconds = rng.integers(1, 4, (tasks, workers)).astype(float)
    return Instance.from_arrays(seconds, edges, seconds_per_byte=1.0)


def shop(seed: int, jobs: int, machines: int) -> Instance:
    """Jobs that visit each machine once, in an order of their own."""
    rng = np.random.default_rng(seed)
    seconds = np.full((jobs * machines, machines), np.inf)
    edges = []
    for j in range(jobs):
        for k, machine in enumerate(rng.permutation(machines).tolist()):
            t = j * machines + k
            seconds[t, machine] = float(rng.integers(1, 9))
            edges += [(t - 1, t, 0.0)] if k else []
    return Instance.from_arrays(seconds, edges)


def unlinked(seed: int, tasks: int, workers: int) -> Instance:
    """Tasks without edges, which take as long as it happens on each worker."""
    rng = np.random.default_rng(seed)
    return Instance.from_arrays(rng.integers(3, 12, (tasks, workers)).astype(float), [])


def three_children() -> Instance:
    """A task of 1 s, and three of 4 s that need its output, which is 10 s on its way."""
    edges = [(0, child, 1.0) for child in (1, 2, 3)]
    seconds = np.repeat([1.0, 4, 4, 4], 3).reshape(4, 3)
    return Instance.from_arrays(seconds, edges, seconds_per_byte=10.0)


def certificate(refutation: Refutation) -> Certificate:
    return Certificate(refutation.limit * (1 - 1e-8), None, Case(refutation=refutation))


def test_to_keep_all_edges_is_best_where_each_way_is_longer_than_all_the_work() -> None:
    # All on one worker: 1 + 3 x 4 = 13 s. One child elsewhere: 1 + 10 + 4 = 15 s.
    assert attempted(three_children(), 13.0).status == REFUTED
    attempt = attempted(three_children(), 13.5)
    assert attempt.status == DECIDED
    worker, start = attempt.placed()
    assert len(set(worker.tolist())) == 1
    assert sorted(start.tolist()) == [0.0, 1.0, 5.0, 9.0]


def test_to_cut_an_edge_is_best_where_the_way_is_shorter_than_the_wait() -> None:
    # As above with 5 s on the way: one child elsewhere, 1 + 5 + 4 = 10 s, beside 1 + 2 x 4 = 9 s.
    edges = [(0, child, 1.0) for child in (1, 2, 3)]
    instance = Instance.from_arrays(
        np.repeat([1.0, 4, 4, 4], 3).reshape(4, 3), edges, seconds_per_byte=5.0
    )
    assert attempted(instance, 10.0).status == REFUTED
    assert attempted(instance, 10.1).status == DECIDED


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(50, 300, 50))]
)
def test_nothing_is_refuted_that_the_oracle_has(first: int) -> None:
    for seed, instance in tiny_instances(range(first, first + 50)):
        try:
            optimum = optimal_makespan(instance, 1.0).makespan
        except (UnsupportedInstance, InfeasibleInstance):
            continue
        if optimum > 0:
            assert attempted(instance, optimum * (1 + 1e-6)).status != REFUTED, f"seed {seed}"


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_lies_between_what_is_refuted_and_what_is_found(seed: int) -> None:
    instance = slow_links(seed, tasks=8, workers=2)
    optimum = optimal_makespan(instance, 1.0).makespan
    refuted, found = attempted(instance, optimum), attempted(instance, optimum * (1 + 1e-6))
    assert refuted.status == REFUTED
    assert found.status == DECIDED
    worker, start = found.placed()
    schedule = place(instance, Choice(by_start(expand(instance), start), worker=worker))
    assert isinstance(schedule, Schedule)
    check_schedule(instance, schedule)
    assert schedule.makespan == pytest.approx(optimum)


@pytest.mark.parametrize("seed", range(6))
def test_the_checker_follows_what_compiled_code_refuted(seed: int) -> None:
    instance = slow_links(seed)
    limits = [part * heft(instance) for part in (0.5, 0.7, 0.8, 0.9)]
    longest = max(x for x in limits if attempted(instance, x, 2_000).status == REFUTED)
    refutation = attempted(instance, longest, 2_000).refutation()
    assert verify(instance, certificate(refutation)) == pytest.approx(longest)


@pytest.mark.parametrize(
    ("instance", "kinds"),
    [
        (slow_links(1, tasks=18, workers=2), {0, 3, 4}),
        (unlinked(3, tasks=9, workers=3), {1, 3, 5}),
        (shop(2, jobs=4, machines=4), {0, 2, 3, 6}),
    ],
    ids=["edges", "workers", "orders"],
)
def test_each_kind_of_decision_can_be_checked(instance: Instance, kinds: set[int]) -> None:
    optimum = found_optimum(instance)
    refutation = attempted(instance, optimum).refutation()
    assert {step[0] for step in refutation.steps} == kinds
    assert verify(instance, certificate(refutation)) == pytest.approx(optimum)


def heft(instance: Instance) -> float:
    schedule = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    assert schedule is not None
    return schedule.makespan


def found_optimum(instance: Instance) -> float:
    """What the ladder proves and has found."""
    start = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    assert start is not None
    brief, proven = Brief(instance, Budget(iterations=4_000), incumbent=start), 0.0
    for proposal in Ladder().plan(brief):
        brief.incumbent = proposal.schedule or brief.incumbent
        proven = max(proven, proposal.lower_bound)
    assert brief.incumbent is not None
    assert proven == pytest.approx(brief.incumbent.makespan, rel=1e-8)
    return brief.incumbent.makespan


@pytest.mark.parametrize("seed", range(4))
def test_the_ladder_is_right_about_the_optimum_of_a_graph_with_slow_links(seed: int) -> None:
    instance = slow_links(seed, tasks=8, workers=2)
    assert found_optimum(instance) == pytest.approx(optimal_makespan(instance, 1.0).makespan)


def tampered(
    steps: tuple[tuple[int, int, int], ...],
) -> list[tuple[str, tuple[tuple[int, int, int], ...]]]:
    first, rest = steps[0], steps[1:]
    return [
        ("goes on where nothing is left", (*steps, (3, 0, 0))),
        ("leaves 1 cases open", steps[:-1]),
        ("does not", ((3, 0, 0),)),
        ("no decision of kind 9", ((9, *first[1:]), *rest)),
        ("not both there", ((first[0], 99, 0), *rest)),
        ("no edge from task 2 to task 2", ((0, 2, 2), *rest)),
        ("need not come one after the other", ((2, 0, 1), *rest)),
    ]


@pytest.mark.parametrize("k", range(7))
def test_a_refutation_that_was_changed_is_refused(k: int) -> None:
    instance = slow_links(1, tasks=18, workers=2)
    refutation = attempted(instance, found_optimum(instance)).refutation()
    assert len(refutation.steps) > 3
    why, steps = tampered(refutation.steps)[k]
    wrong = replace(refutation, steps=steps)
    with pytest.raises(InvalidCertificate, match=why):
        verify(instance, certificate(wrong))


def test_a_refutation_of_a_limit_that_a_schedule_beats_is_refused() -> None:
    refutation = attempted(three_children(), 13.0).refutation()
    with pytest.raises(InvalidCertificate, match="which it does not"):
        verify(three_children(), certificate(replace(refutation, limit=14.0)))


def test_a_refutation_about_too_many_tasks_is_refused_before_tables_of_their_pairs() -> None:
    """For 20,000 tasks these had 3 GB each, and whoever checked ran out of memory."""
    many = Instance.from_arrays(np.ones((2_001, 1)), [])
    with pytest.raises(InvalidCertificate, match="2001 tasks; it is followed for 2000 at most"):
        verify(many, certificate(Refutation(3.0, ((3, 0, 0),))))


def at_once(*tasks: Task) -> bool:
    """Can the first two run at the same time on a worker of four threads and one GPU?"""
    instance = instance_of(list(tasks), [Worker("w", threads=4, resources={"GPU": 1})])
    return not never_at_once(instance, expand(instance))[0, 1]


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Task("a", seconds=2, threads=2), Task("b", seconds=1, threads=2), True),
        (Task("a", seconds=2, threads=3), Task("b", seconds=1, threads=2), False),
        (Task("a", seconds=2, threads=3), Task("b", seconds=0, threads=2), True),
        (Task("a", seconds=2, resources={"GPU": 1}), Task("b", seconds=1), True),
        (
            Task("a", seconds=2, resources={"GPU": 1}),
            Task("b", seconds=1, resources={"GPU": 1}),
            False,
        ),
        # One could make room for the other, for a while.
        (
            Task("a", seconds=2, threads=3, checkpoints=(0.5,)),
            Task("b", seconds=1, threads=2),
            True,
        ),
        # A way that nobody would take: three times as long, on one thread.
        (
            Task("a", modes=(Mode("wide", threads=4, seconds=2), Mode("slim", seconds=6))),
            Task("b", seconds=1, threads=3),
            True,
        ),
    ],
)
def test_what_can_run_at_once(one: Task, other: Task, both: bool) -> None:
    assert at_once(one, other) == both


def test_heads_of_an_order_add_up_from_heads_as_they_were() -> None:
    # a of 3 s from 10 on, b of 2 s after a, c after both: 13, then 15. Adding up in the order of
    # heads that had been raised meanwhile came to 18.
    one = nodes(1, 3, 1, 0)
    node = Node(*(each[0] for each in one))
    node.may[:] = True
    node.head[:, 0] = 10.0, 5.0, 0.0
    node.sooner[0, 1] = node.sooner[0, 2] = node.sooner[1, 2] = True
    work = np.array([[3.0], [2.0], [1.0]])
    with interpreting():
        for _ in range(3):
            raise_members(work, node, np.arange(3))
    assert node.head[:, 0].tolist() == [10.0, 13.0, 15.0]


def test_patience_doubles_once_no_nearer_limit_can_be_refuted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = []

    class Open(Attempt):
        """It never ends."""

        def go_on(self, most: int) -> None:
            limits.append(self.limit)
            self._descent.at[1] += 100

    monkeypatch.setattr(refuter, "Attempt", Open)
    instance = slow_links(0)
    problem = expand(instance)
    relaxation = Relaxation.of(problem)
    one = Refuter(instance, problem, relaxation)
    state = initial(relaxation, 1_000.0)
    for _ in range(12 + 24):
        one.step(state, 900.0, 1_000.0)
    each = [950.0, 925.0, 912.5, 906.25]
    assert limits == [*np.repeat(each, 3), *np.repeat(each, 6)]
