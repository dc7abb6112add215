"""Flows that can be followed; each is also run, and its recorded graph compared."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from prefect import allow_failure, flow, get_run_logger, tags, task, unmapped
from prefect.futures import wait

RAN: list[str] = []
"""What ran: nothing, while a flow is followed."""


@task
def load(i: int = 0) -> int:
    RAN.append("load")
    return i


@task
def add(x: int, y: int = 1) -> int:
    RAN.append("add")
    return x + y


@task
def total(numbers: Any) -> int:
    RAN.append("total")
    return len(numbers)


@task
async def later(x: int) -> int:
    RAN.append("later")
    return x + 1


@task(tags={"orchestrator:seconds=30", "orchestrator:kind=trained"})
def train(x: int) -> int:
    RAN.append("train")
    return x


@dataclass(frozen=True)
class Plan:
    """What a user's own code may look like."""

    kinds: tuple[str, ...]

    def numbered(self) -> Iterator[tuple[int, str]]:
        yield from enumerate(self.kinds)

    @property
    def first(self) -> str:
        return self.kinds[0]


PLAN = Plan(("forest", "linear"))


def submit_all(numbers: Any) -> list[Any]:
    return [load.submit(number) for number in sorted(numbers, key=lambda n: -n)]


def chain() -> Any:
    future = load.submit(1)
    for _ in range(4):
        future = add.submit(future)
    return future.result()


def mapped() -> Any:
    return add.map([1, 2, 3], y=unmapped(10)).result()


def mapped_over_futures() -> Any:
    return add.map(add.map([1, 2, 3]), y=load.map([4, 5, 6])).result()


def map_reduce() -> Any:
    parts = load.map(range(20))
    return total.submit(parts).result()


def waits() -> Any:
    first, second = load.submit(1), load.submit(2)
    last = add.submit(10, wait_for=[first, second])
    after = [add.submit(3, wait_for=each) for each in (last, {"a": first})]
    wait([first, *after])
    return add.submit(11).result()


def nested_containers() -> Any:
    parts = {"a": [load.submit(1), load.submit(2)], "b": (load.submit(3), {"c": load.submit(4)})}
    return total.submit(parts).result()


def results_go_on() -> Any:
    numbers = [load.submit(i) for i in range(3)]
    found = [number.result() for number in numbers]
    again = add.submit(found[0], found[-1])
    return total.submit({"all": found, "again": again}).result()


def many_results() -> Any:
    found = [future.result() for future in load.map(range(40))]
    return [add.submit(i) for i in found[:3]]


def failures_are_allowed() -> Any:
    return total.submit([allow_failure(load.submit(1))]).result()


def states() -> Any:
    state = load.submit(1, return_state=True)
    return add.submit(state).result()


def hints() -> Any:
    with tags("outer", "orchestrator:memory=1KB"), dask.annotate(workers=[0]):
        one = train.submit(1)
    renamed = add.with_options(name="sum", tags={"mine"})
    return renamed.submit(one).result()


def calls_tasks_itself() -> Any:
    x = add(load.submit(1))
    y = add(x, 2)
    return add.submit(y).result()


@flow
def inner(x: int) -> int:
    return load.submit(x).result()


def has_a_subflow() -> Any:
    before = load.submit(1)
    return add.submit(inner(before)).result()


async def is_async() -> Any:
    first = await later(1)
    both = await asyncio.gather(later(1), later(2))
    futures = [later.submit(i) for i in range(2)]
    return [first, both, [future.result() for future in futures]]


def is_generator() -> Iterator[Any]:
    for i in range(3):
        yield load.submit(i).result()


async def is_async_generator() -> AsyncIterator[Any]:
    for i in range(2):
        yield load.submit(i)


def uses_its_own_code() -> Any:
    logger = get_run_logger()
    futures = submit_all({1, 2, 3})
    for i, kind in PLAN.numbered():
        if kind == PLAN.first:
            futures.append(add.submit(futures[i]))
    logger.info("submitted %s", futures[0].result())
    return total.submit(futures).result()


def reads_settings() -> Any:
    path = Path(__file__).with_name("settings.json")
    with open(path) as file:
        settings = json.load(file)
    return [load.submit(i) for i in range(settings["loads"])]


def catches() -> Any:
    try:
        return load.submit(1).result()
    except ValueError:
        return add.submit(2).result()


def matches(kind: str = "both") -> Any:
    match kind:
        case "one":
            return load.submit(1)
        case "both" | "all":
            return [load.submit(1), add.submit(2)]
    return None


def defines_its_own() -> Any:
    submitted = 0

    def more() -> Any:
        nonlocal submitted
        submitted += 1
        return load.submit(submitted)

    @task
    def local(numbers: list[int]) -> int:
        return len(numbers)

    futures = [more() for _ in range(3)]
    return local.submit([*futures, (lambda x: add.submit(x))(submitted)]).result()


def writes_to_memory() -> Any:
    text = io.StringIO()
    text.write("a,b")
    sys.stdout.write("told nobody")
    print("neither", file=sys.stderr)
    return total.submit(text.getvalue().split(",")).result()


TABLE: list[Callable[..., Any]] = [
    chain,
    mapped,
    mapped_over_futures,
    map_reduce,
    waits,
    nested_containers,
    results_go_on,
    many_results,
    failures_are_allowed,
    states,
    hints,
    calls_tasks_itself,
    has_a_subflow,
    is_async,
    is_generator,
    is_async_generator,
    uses_its_own_code,
    reads_settings,
    catches,
    matches,
    defines_its_own,
    writes_to_memory,
]
