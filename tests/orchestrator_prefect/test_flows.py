"""A flow means the same under `OptimizedTaskRunner` as under prefect-dask's own runner."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from prefect import flow, tags, task, unmapped
from prefect.client.schemas.objects import State
from prefect.context import TaskRunContext
from prefect.futures import as_completed, wait
from prefect.runtime import task_run
from prefect.utilities.annotations import quote
from prefect_dask import DaskTaskRunner

from orchestrator_prefect import OptimizedTaskRunner

from .conftest import Advisor
from .parity.tasks import add, fails, total


@task(task_run_name="named-{x}")
def own_name(x: int) -> str:
    return str(task_run.name)


@task
def own_tags() -> list[str]:
    context = TaskRunContext.get()
    assert context is not None
    return sorted(context.task_run.tags)


@task
async def add_later(x: int) -> int:
    return x + 1


@task
def is_future(value: Any) -> bool:
    return hasattr(value, "task_run_id")


ATTEMPTS: list[int] = []


@task(retries=2, retry_delay_seconds=0)
def fails_twice() -> int:
    ATTEMPTS.append(1)
    if len(ATTEMPTS) % 3:
        raise RuntimeError("not yet")
    return 7


def chain() -> int:
    future = add.submit(1)
    for _ in range(4):
        future = add.submit(future)
    return future.result()


def nested_arguments() -> int:
    parts = {"a": [add.submit(1), add.submit(2)], "b": (add.submit(3),)}
    return total.submit([*parts["a"], *parts["b"], 10]).result()


def mapped() -> list[int]:
    return add.map([1, 2, 3], y=unmapped(10)).result()


def mapped_over_futures() -> list[int]:
    return add.map(add.map([1, 2, 3])).result()


def mapped_over_the_length_of_a_result() -> list[int]:
    length = add.submit(2).result()
    return add.map(list(range(length))).result()


def waits_for_another() -> int:
    first = add.submit(1)
    return add.submit(10, wait_for=[first]).result()


def waits_for_one_alone_and_for_those_of_a_mapping() -> list[str]:
    broken = fails.submit()
    later = [add.submit(1, wait_for=each) for each in (broken, {"a": [broken]}, 5)]
    wait(later)
    return [str(each.state.name) for each in later]


def branches_on_a_result() -> str:
    return "many" if add.submit(5).result() > 3 else "few"


def loops_until_it_is_enough() -> int:
    value = 0
    while value < 3:
        value = add.submit(value).result()
    return value


@flow
def inner(x: int) -> int:
    return add.submit(x).result()


def has_a_subflow() -> int:
    return inner(add.submit(1)) + add.submit(1).result()  # type: ignore[arg-type]


async def is_async() -> int:
    futures = [add_later.submit(i) for i in range(3)]
    return sum(future.result() for future in futures)


def retries() -> int:
    return fails_twice.submit().result()


def task_fails() -> int:
    add.submit(1)
    return fails.submit("wrong value").result()  # type: ignore[return-value]


def downstream_of_a_failure() -> list[str]:
    broken = fails.submit("wrong value")
    state = add.submit(broken, return_state=True)  # type: ignore[arg-type]
    return [str(state.type), str(state.name)]


def returns_a_future() -> Any:
    add.submit(1)
    return add.submit(2)


def returns_futures() -> Any:
    return [add.submit(i) for i in range(3)]


def asks_for_states() -> list[str]:
    good = add.submit(1, return_state=True)
    bad = fails.submit("wrong value", return_state=True)
    later = add.submit(2)
    later.wait()
    return [str(good.name), str(bad.name), str(later.state.name)]


def task_run_names() -> list[str]:
    return [own_name.submit(i).result() for i in range(2)]


def other_options() -> list[Any]:
    renamed = add.with_options(name="sum", task_run_name="sum-{x}")
    return [renamed.submit(1).result(), renamed.name]


def tagged() -> list[list[str]]:
    with tags("outer"):
        first = own_tags.submit()
        with tags("inner"):
            second = own_tags.submit()
    third = own_tags.submit()
    return [future.result() for future in (first, second, third)]


def changes_an_argument_after_submitting() -> list[int]:
    numbers: list[int] = []
    futures = []
    for number in range(4):
        numbers.append(number)
        futures.append(total.submit(numbers))
    return [future.result() for future in futures]


def takes_them_as_they_come() -> list[int]:
    futures = [add.submit(i) for i in range(4)]
    done, not_done = wait(futures[:2])
    assert not not_done
    return sorted(future.result() for future in [*as_completed(futures[2:]), *done])


def submits_from_threads() -> list[int]:
    def one(number: int) -> int:
        return add.submit(number).result()

    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(copy_context().run, one, number) for number in range(9)]
        return sorted(each.result() for each in waiting)


def calls_directly() -> int:
    return add(add.submit(1)) + add(1)  # type: ignore[arg-type]


def quotes() -> bool:
    return is_future.submit(quote({"x": 1})).result()


def takes_dask_futures() -> int:
    future = add.submit(1)
    state: State[int] = future.wrapped_future.result()  # type: ignore[attr-defined]
    return state.result()


def raises() -> None:
    add.submit(1)
    raise KeyError("from the body")


EXPECTED = {
    chain: 6,
    nested_arguments: 19,
    mapped: [11, 12, 13],
    mapped_over_futures: [3, 4, 5],
    mapped_over_the_length_of_a_result: [1, 2, 3],
    waits_for_another: 11,
    waits_for_one_alone_and_for_those_of_a_mapping: ["NotReady", "NotReady", "Completed"],
    branches_on_a_result: "many",
    loops_until_it_is_enough: 3,
    has_a_subflow: 5,
    is_async: 6,
    retries: 7,
    task_fails: ValueError("wrong value"),
    downstream_of_a_failure: ["StateType.PENDING", "NotReady"],
    returns_a_future: ("Completed", 3),
    returns_futures: [("Completed", 1), ("Completed", 2), ("Completed", 3)],
    asks_for_states: ["Completed", "Failed", "Completed"],
    task_run_names: ["named-0", "named-1"],
    other_options: [2, "sum"],
    tagged: [["outer"], ["inner", "outer"], []],
    changes_an_argument_after_submitting: [0, 1, 3, 6],
    takes_them_as_they_come: [1, 2, 3, 4],
    submits_from_threads: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    calls_directly: 5,
    quotes: False,
    takes_dask_futures: 2,
    raises: KeyError("from the body"),
}


def outcome(body: Any, runner: DaskTaskRunner) -> tuple[Any, ...]:
    """Name of the state, and the value; of an exception its type and text."""
    state: Any = flow(task_runner=runner)(body)(return_state=True)
    if asyncio.iscoroutine(state):
        state = asyncio.run(state)
    return state.name, plain(state.result(raise_on_failure=False, _sync=True))


def plain(value: Any) -> Any:
    """States without their ids and times; exceptions that can be compared."""
    if isinstance(value, State):
        return value.name, value.result(_sync=True)  # type: ignore[call-overload]
    if isinstance(value, Exception):
        return type(value), str(value)
    return [plain(each) for each in value] if isinstance(value, list) else value


def expected(body: Any) -> tuple[Any, ...]:
    value = EXPECTED[body]
    return "Failed" if isinstance(value, Exception) else "Completed", plain(value)


def named(body: Any) -> str:
    return str(body.__name__)


@pytest.mark.parametrize("body", EXPECTED, ids=named)
def test_state_and_value(cluster: Any, body: Any) -> None:
    advisor = Advisor()
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    assert outcome(body, runner) == expected(body)
    # Of what is submitted and never waited for, nothing is planned.
    assert advisor.asked or body is raises, "the flow must have gone through the planner"


@pytest.mark.slow
@pytest.mark.parametrize("body", EXPECTED, ids=named)
def test_the_table_is_what_prefect_dask_does(cluster: Any, body: Any) -> None:
    runner = DaskTaskRunner(address=cluster.scheduler_address)
    assert outcome(body, runner) == expected(body)
