"""A worker that is rented for a part of the time: what lies between k workers and k + 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core import Budget, Cluster, Instance, Link, TaskGraph, Worker, pareto, plan
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.objectives.bounds import value_bound
from orchestrator_core.plan.objectives.leased import leased
from orchestrator_core.plan.objectives.part_leases import within
from orchestrator_core.plan.objectives.values import evaluate
from tests.plan.objectives.test_bounds_and_planners import optimal_value
from tests.plan.tiny import tiny_instances

ALWAYS, NEVER = 0.0, np.inf

DEAR, CHEAP = 36_000.0, 3_600.0
"""Ten money a second, and one."""


def bag(n: int = 12, deadline: float | None = None, only: str | None = None) -> Instance:
    """Tasks of a second on a dear worker of speed 2 and a cheap one of speed 1; the last task
    needs the resource `only`, which the dear one has."""
    builder = TaskGraph.build()
    for i in range(n):
        needs = {only: 1} if only and i == n - 1 else {}
        builder.task(f"t{i}", seconds=1.0, deadline=deadline, resources=needs)
    dear = Worker("dear", kind="dear", speed=2.0, price=DEAR, resources={"disk": 1})
    cheap = Worker("cheap", kind="cheap", price=CHEAP)
    return Instance.price(builder.done(), Cluster([dear, cheap]))


def assigned(instance: Instance, since: tuple[float, ...], until: tuple[float, ...]):
    problem = expand(instance)
    lease = np.array(since), np.array(until)
    worker, ends = leased(problem, problem.topological, best_seconds(problem), *lease)
    return worker.tolist(), ends


def test_what_nobody_who_is_rented_can_run_is_shared_by_the_others() -> None:
    """Of ends that are far beyond all others the sooner one counts, too."""
    worker, ends = assigned(bag(8), (NEVER, NEVER), (NEVER, NEVER))
    assert (worker.count(0), ends) == (6, pytest.approx(3.0))  # speeds 2 and 1


@pytest.mark.parametrize(
    ("since", "until", "dear", "ends"),
    [
        ((ALWAYS, ALWAYS), (NEVER, NEVER), 8, 4.0),  # speeds 2 and 1
        ((NEVER, ALWAYS), (NEVER, NEVER), 0, 12.0),
        ((ALWAYS, ALWAYS), (1.0, NEVER), 2, 10.0),
        ((9.0, ALWAYS), (10.0, NEVER), 2, 10.0),  # as late as it can be of use
        ((ALWAYS, ALWAYS), (0.4, NEVER), 0, 12.0),  # too short for any task
    ],
)
def test_nobody_works_but_who_is_rented(since, until, dear: int, ends: float) -> None:
    worker, last = assigned(bag(), since, until)
    assert (worker.count(0), last) == (dear, pytest.approx(ends))


def test_who_alone_can_run_a_task_is_rented_for_it() -> None:
    worker, last = assigned(bag(3, only="disk"), (NEVER, ALWAYS), (NEVER, NEVER))
    assert worker == [1, 1, 0]
    assert last == pytest.approx(2.0)


def test_threads_and_transfers_count() -> None:
    """Two threads take four tasks of a second in two; their reader waits for what is sent."""
    builder = TaskGraph.build()
    names = [builder.task(f"t{i}", seconds=1.0, output_bytes=1e6) for i in range(4)]
    builder.task("last", seconds=1.0, after=names, resources={"disk": 1})
    workers = [Worker("a", threads=2), Worker("b", resources={"disk": 1})]
    cluster = Cluster(workers, Link(latency=0.5, bandwidth=1e6))
    instance = Instance.price(builder.done(), cluster)
    worker, last = assigned(instance, (ALWAYS, NEVER), (NEVER, NEVER))
    assert worker == [0, 0, 0, 0, 1]
    assert last == pytest.approx(2.0 + 1.5 + 1.0)


def test_interpreted_it_is_the_same() -> None:
    for seed, instance in tiny_instances(range(8)):
        w = len(instance.cluster)
        since, until = np.where(np.arange(w) % 2, 1.0, 0.0), np.full(w, 4.0 + seed)
        compiled = assigned(instance, tuple(since), tuple(until))
        with interpreting():
            assert assigned(instance, tuple(since), tuple(until)) == compiled


@pytest.mark.parametrize("rented", [1.0, 2.0, 3.0])
def test_a_front_goes_on_between_one_worker_and_both(rented: float) -> None:
    """The dear one for x seconds: 12 - 2 x seconds, for as much and 10 x. Without, there are 12
    seconds for 12, and 4 for 44."""
    front = pareto(bag(), Budget(iterations=0))
    ends, price = 12 - 2 * rented, 12 + 8 * rented
    found = front.within("price", price)
    assert found is not None
    assert found.value[0] <= ends * (1 + 1e-9)


def test_the_cheapest_plan_that_ends_by_a_deadline_rents_as_little_as_it_can() -> None:
    """Ten seconds: the dear worker for one of them."""
    asked = ("heft", "price-subsets")
    result = plan(bag(deadline=10.0), Budget(iterations=1), asked, objective="price")
    assert result.value == pytest.approx(20.0)
    assert result.planner == "price-subsets"


@pytest.mark.parametrize(("limit", "ends"), [(19.9, 11.0), (20.0, 10.0), (33.0, 7.0), (44.0, 4.0)])
def test_a_limit_buys_as_much_of_the_dear_worker_as_it_can(limit: float, ends: float) -> None:
    """Half a second of it does a task: 12 - n seconds for 12 + 4 n money."""
    instance = bag()
    placed = [place(instance, choice) for choice in within(instance, limit)]
    values = [evaluate(instance, each, "makespan,price") for each in placed]
    assert min(end for end, price in values if price <= limit * (1 + 1e-9)) == pytest.approx(ends)


@pytest.mark.parametrize("limit", [11.0, 12.0])
def test_what_one_worker_alone_costs_buys_no_other(limit: float) -> None:
    assert not list(within(bag(), limit))


@pytest.mark.parametrize(
    ("deadline", "least"), [(12.0, 12.0), (10.0, 20.0), (7.0, 32.0), (5.0, 40.0), (4.0, 44.0)]
)
def test_what_must_be_done_by_a_date_has_its_price(deadline: float, least: float) -> None:
    """By 12 - 2 x seconds the dear worker has to take x seconds of the work, which the bound splits
    as it likes: 12 + 8 x."""
    instance = bag(deadline=deadline)
    for criterion in ("price", "busy-price"):
        assert value_bound(instance, criterion).value == pytest.approx(least)
    with interpreting():
        assert value_bound(instance, "price").value == pytest.approx(12.0)


def test_who_has_no_deadline_is_done_where_it_is_cheapest() -> None:
    """Six by three seconds, of which the dear worker takes 1.5 s; six whenever: 3 + 15 + 6."""
    builder = TaskGraph.build()
    for i in range(12):
        builder.task(f"t{i}", seconds=1.0, deadline=3.0 if i % 2 else None)
    instance = Instance.price(builder.done(), bag().cluster)
    assert value_bound(instance, "price").value == pytest.approx(24.0)


def test_a_producer_shares_the_deadline_of_who_needs_it() -> None:
    """Ten tasks without a deadline, and one that needs them and ends by 10: 11 s of work, 10 s of
    which fit on the cheap worker; half a second of the dear one does the other."""
    builder = TaskGraph.build()
    names = [builder.task(f"t{i}", seconds=1.0) for i in range(10)]
    builder.task("last", seconds=1.0, after=names, deadline=10.0)
    instance = Instance.price(builder.done(), bag().cluster)
    assert value_bound(instance, "price").value == pytest.approx(15.0)


def test_who_takes_no_time_somewhere_costs_nothing_there() -> None:
    """On the dear worker both take no time, whatever the deadline; on the free one, too long."""
    graph = TaskGraph.build()
    for name in ("a", "b"):
        graph.task(name, seconds=1.0, deadline=1.0)
    cluster = Cluster([Worker("dear", kind="dear", price=DEAR), Worker("free", kind="free")])
    instance = Instance(graph.done(), cluster, np.array([[0.0, 5.0], [0.0, 5.0]]))
    assert value_bound(instance, "price").value == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_price_by_dates_is_below_every_plan_of_many_unlike_tasks(seed: int) -> None:
    """More kinds than the linear program takes: it only chooses prices, the bound is over all."""
    random = np.random.default_rng(seed)
    builder = TaskGraph.build()
    for i in range(400):
        builder.task(f"t{i}", kind=f"k{i}", seconds=1.0, deadline=60.0)
    workers = [
        Worker(f"w{b}", kind=f"w{b}", price=3600.0 * float(random.uniform(1, 9))) for b in range(12)
    ]
    instance = Instance(
        builder.done(), Cluster(workers), random.lognormal(0.0, 0.8, (400, 12)).astype(np.float64)
    )
    bound = value_bound(instance, "price").value
    found = plan(instance, Budget(iterations=2), ("heft", "price-subsets"), objective="price")
    assert 0.4 * found.value < bound <= found.value


def test_the_price_by_dates_is_below_the_least_price_of_tiny_instances() -> None:
    """With several threads, transfers, workers that cost nothing, and tasks without a deadline."""
    by_dates = 0
    for seed in range(60):
        instance = _hurried(seed)
        for criterion in ("price", "busy-price"):
            try:
                least = optimal_value(instance, criterion, 1.0).value[0]
            except InfeasibleInstance:
                continue
            bound = value_bound(instance, criterion)
            assert bound.value <= least * (1 + 1e-9), (seed, criterion)
            by_dates += bound.method == "the cheapest places that deadlines leave"
    assert by_dates >= 30


def _hurried(seed: int) -> Instance:
    """Little more time than it takes."""
    random = np.random.default_rng(seed)
    builder, names = TaskGraph.build(), list[str]()
    for i in range(int(random.integers(3, 6))):
        after = [name for name in names if random.random() < 0.25]
        threads, seconds = int(random.choice([1, 1, 2])), 2.0 * float(random.integers(1, 4))
        nbytes = float(random.integers(0, 3))
        more = {"threads": threads, "output_bytes": nbytes, "after": after}
        names.append(builder.task(f"t{i}", seconds=seconds, **more))
    workers = [
        Worker(
            f"w{b}",
            kind=f"w{b}",
            speed=float(random.choice([1, 2])),
            threads=int(random.choice([1, 2, 2])) if b else 2,
            price=3600 * float(random.choice([0, 1, 2, 5])),
        )
        for b in range(int(random.integers(2, 4)))
    ]
    graph = builder.done()
    cluster = Cluster(workers, Link(latency=0.0, bandwidth=1.0))
    free = Instance.price(graph, cluster)
    until = optimal_value(free, "makespan", 1.0).value[0] * random.uniform(1.0, 1.6)
    deadline = np.where(random.random(len(graph)) < 0.15, np.inf, until)
    deadline.flags.writeable = False
    return Instance.price(replace(graph, deadline=deadline), cluster)
