"""Times beside prices: nothing is lost in what counts first, and the next is searched for."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.worker import Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives import finished as finishing
from orchestrator_core.plan.objectives.due_orders import LOOK_AHEAD, due_orders
from orchestrator_core.plan.objectives.finished import finished, hoped
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.pareto import pareto
from orchestrator_core.plan.objectives.search import ObjectiveSearch
from orchestrator_core.plan.objectives.shorter_leases import shorter_leases
from orchestrator_core.plan.objectives.time_search import TimeSearch
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.objectives.worker_subsets import worker_subsets
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.schedule import Schedule
from tests.plan.objectives.dressed import dressed_instances

QUICK = ("heft", "tardiness-lists", "price-subsets", "time-search")

Job = tuple[float, float, float]
"""Seconds on a worker of speed 1, due date, weight."""


def jobs(n: int, seed: int, latest: int = 100) -> list[Job]:
    rng = random.Random(seed)
    return [(rng.randint(1, 20), rng.randint(5, latest), rng.choice([1, 2, 5])) for _ in range(n)]


def machines(given: Sequence[Job], speeds: Sequence[float], prices: Sequence[float]) -> Instance:
    builder = TaskGraph.build()
    for k, (seconds, due, weight) in enumerate(given):
        builder.task(f"t{k}", seconds=seconds, due=due, weight=weight)
    pairs = enumerate(zip(speeds, prices, strict=True))
    workers = [Worker(f"w{k}", speed=speed, price=price) for k, (speed, price) in pairs]
    return Instance.price(builder.done(), Cluster(workers))


def late(order: Sequence[Job]) -> float:
    """Weighted tardiness of jobs one after another."""
    ends = itertools.accumulate(seconds for seconds, _, _ in order)
    pairs = zip(order, ends, strict=True)
    return sum(weight * max(0.0, end - due) for (_, due, weight), end in pairs)


def planned(instance: Instance, objective: str) -> tuple[float, ...]:
    return plan(instance, Budget(iterations=20_000), objective=objective, planners=QUICK).values


RULES: tuple[Callable[[Job], float], ...] = (
    lambda job: job[1],
    lambda job: job[0] / job[2],
    lambda job: job[1] - job[0],
)
"""EDD, WSPT, slack."""


@pytest.mark.parametrize("objective", ["price,tardiness", "busy-price,tardiness"])
def test_on_the_cheapest_worker_no_simple_order_is_better(objective: str) -> None:
    """The last worker costs half as much as the first for the same work, and so does the second one
    by its price, as it is twice as fast."""
    given = jobs(30, 0)
    price, tardiness = planned(machines(given, [1, 2, 1], [3600, 7200, 1800]), objective)
    assert price == pytest.approx(sum(seconds for seconds, _, _ in given) * 1800 / 3600)
    assert tardiness <= min(late(sorted(given, key=rule)) for rule in RULES)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_order_of_a_few_jobs_is_found(seed: int) -> None:
    given = jobs(6, seed, latest=40)
    _, tardiness = planned(machines(given, [1, 1], [3600, 7200]), "price,tardiness")
    assert tardiness == min(map(late, itertools.permutations(given)))


def test_a_second_criterion_costs_nothing_in_the_first() -> None:
    instance = machines(jobs(30, 0), [1, 2, 1], [3600, 7200, 1800])
    tardiness, _ = planned(instance, "tardiness,price")
    assert tardiness == 0  # as in the order of due dates
    makespan, _ = planned(instance, "makespan,price")
    assert makespan <= planned(instance, "makespan")[0]


def test_who_finds_what_is_cheaper_is_followed() -> None:
    given = jobs(8, 1, latest=30)
    instance = machines(given, [1, 1], [7200, 3600])
    judge = Judge(instance, Objective.of("price,tardiness"))
    dear, cheap = (on_one(instance, worker) for worker in (0, 1))
    brief = Brief(instance, Budget(seconds=20.0), judge.objective, dear)
    found = []
    for proposal in TimeSearch().plan(brief):
        if proposal.schedule is not None:
            check_schedule(instance, proposal.schedule)
            found.append(judge.value(proposal.schedule))
        brief.incumbent = cheap
        if len(found) > 1 and found[-1][0] < found[0][0]:
            break
    assert found[0][0] == judge.value(dear)[0]
    assert found[-1][0] == judge.value(cheap)[0]
    assert found[-1] < judge.value(cheap)


def on_one(instance: Instance, worker: int) -> Schedule:
    """All tasks there, in an order that is bad for their due dates."""
    order = np.argsort(-instance.graph.due, kind="stable")
    found: Any = place(instance, Choice(order, worker=np.full(len(order), worker)))
    assert isinstance(found, Schedule)
    return found


@pytest.mark.parametrize("text", ["price", "tardiness,price", "price,makespan"])
def test_no_shorter_leases_are_better_than_hoped(text: str) -> None:
    for _, instance in dressed_instances(range(60)):
        schedule = next(iter(LIST_PLANNERS[0].plan(Brief(instance)))).schedule
        if schedule is None:
            continue
        judge = Judge(instance, Objective.of(text))
        shorter = judge.value(shorter_leases(instance, schedule))
        assert not judge.better(shorter, hoped(judge, schedule))


def test_where_there_is_no_time_leases_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Schedule] = []

    def shortened(instance: Instance, schedule: Schedule) -> Schedule:
        calls.append(schedule)
        return schedule

    monkeypatch.setattr(finishing, "shorter_leases", shortened)
    instance = machines(jobs(100, 0), [1, 2], [3600, 3600])
    plan(instance, Budget(seconds=0.0), objective="price,tardiness")
    assert calls == []
    judge = Judge(instance, Objective.of("price"))
    schedule = plan(instance, Budget(seconds=0.0)).schedule
    best = tuple(0.5 * value for value in evaluate(instance, schedule, "price"))
    assert finished(judge, schedule, best) is schedule  # nor where it cannot be enough
    assert calls == []


@pytest.mark.parametrize(
    ("objective", "why"),
    [
        ("makespan", "for times beside prices"),
        ("tardiness,makespan", "for times beside prices"),
        ("price", "for times beside prices"),
        ("memory,makespan", "for times beside prices"),
        ("makespan,memory", None),
        ("price,memory,makespan", None),
    ],
)
def test_what_it_is_for(objective: str, why: str | None) -> None:
    instance = machines(jobs(3, 0), [1], [1])
    told = TimeSearch().unsupported(instance, Objective.of(objective))
    assert (told is None) if why is None else (why in (told or ""))


@pytest.mark.parametrize("seed", range(3))
def test_a_front_ends_in_the_least_of_each_criterion(seed: int) -> None:
    """On one worker no order without idle time is cheaper than another."""
    given = jobs(8, seed, latest=40)
    front = pareto(machines(given, [1], [3600]), Budget(iterations=400), ("tardiness", "price"))
    least = min(map(late, itertools.permutations(given)))
    assert front.points[0].value == (least, pytest.approx(sum(job[0] for job in given)))


def test_the_search_goes_on_from_what_others_find() -> None:
    given = jobs(25, 2, latest=60)
    instance = machines(given, [1], [3600])
    judge = Judge(instance, Objective.of("price,tardiness"))
    good = plan(instance, Budget(iterations=20_000), objective="price,tardiness", planners=QUICK)
    brief = Brief(instance, Budget(iterations=400), judge.objective, on_one(instance, 0))
    search = ObjectiveSearch().plan(brief)
    next(search)
    brief.incumbent = good.schedule
    found = [each.schedule for each in search if each.schedule is not None]
    assert all(judge.better(judge.value(each), good.values) for each in found)


def test_leases_are_made_shorter_where_there_is_time() -> None:
    """The second worker waits for the first between its two tasks, which could be one after the
    other."""
    builder = TaskGraph.build()
    builder.task("a", seconds=10)
    builder.task("b", seconds=1, after=["a"])
    builder.task("c", seconds=1)
    workers = [Worker("w0", price=1.0), Worker("w1", price=1.0)]
    instance = Instance.price(builder.done(), Cluster(workers))
    order, worker = np.array([0, 2, 1]), np.array([0, 1, 1])
    schedule: Any = place(instance, Choice(order, worker=worker))
    judge = Judge(instance, Objective.of("price"))
    assert finished(judge, schedule, left=0.001) is schedule
    paid = [judge.value(each)[0] * 3600 for each in (schedule, finished(judge, schedule, left=60))]
    assert paid == pytest.approx([10 + 11, 10 + 2])


def test_the_apparent_cost_of_tardiness_decides_as_its_formula_says() -> None:
    given = jobs(40, 3)
    instance = machines(given, [1, 2], [1, 1])
    _, first, *_ = (choice.order.tolist() for choice in due_orders(instance))
    seconds = [job[0] / 2 for job in given]  # on the faster worker
    mean, now, left, order = sum(seconds) / len(seconds), 0.0, list(range(len(given))), []

    def cost(k: int) -> float:
        slack = max(0.0, given[k][1] - seconds[k] - now)
        return given[k][2] / seconds[k] * math.exp(-slack / (LOOK_AHEAD[0] * mean))

    while left:
        order.append(left.pop(left.index(max(left, key=cost))))
        now += seconds[order[-1]] / 2
    assert first == order


def some_only_on_the_slow_one(seed: int) -> Instance:
    """Every other task may run on the slow, cheap worker only."""
    rng, builder = random.Random(seed), TaskGraph.build()
    for k in range(7):
        builder.task(f"t{k}", seconds=rng.uniform(1, 10), eligible=["slow"] if k % 2 else None)
    workers = [Worker("fast", price=2, speed=2), Worker("slow", price=1, threads=2)]
    return Instance.price(builder.done(), Cluster(workers))


def test_what_no_worker_of_a_subset_can_run_is_shared_by_the_others() -> None:
    """All three ends were rounded to the same number, and the first worker did everything."""
    builder = TaskGraph.build()
    builder.task("plain", seconds=1)
    for k in range(6):
        builder.task(f"t{k}", seconds=10, resources={"GPU": 1})
    gpus = [Worker(f"gpu-{k}", price=3, resources={"GPU": 1}) for k in range(3)]
    instance = Instance.price(builder.done(), Cluster([Worker("cpu", price=1), *gpus]))
    # Of the cheapest worker alone, which can run one of the tasks.
    choices = [c for c in worker_subsets(instance) if c.ahead is not None]
    choice = next(c for c in choices if (c.ahead > 0).tolist()[0] == [False, True, True, True])
    placed = place(instance, choice)
    assert isinstance(placed, Schedule)
    assert placed.makespan == pytest.approx(20.0)


@pytest.mark.parametrize("objective", ["price,makespan", "busy-price,makespan", "makespan,price"])
def test_tasks_stay_where_they_may_run(objective: str) -> None:
    for seed in range(12):
        instance = some_only_on_the_slow_one(seed)
        placed = (place(instance, choice) for choice in worker_subsets(instance))
        judge = Judge(instance, Objective.of(objective))
        first = min((each for each in placed if isinstance(each, Schedule)), key=judge.value)
        budget = Budget(iterations=50_000, seed=seed)
        for proposal in TimeSearch().plan(Brief(instance, budget, judge.objective, first)):
            if proposal.schedule is not None:
                check_schedule(instance, proposal.schedule)
