"""How tasks are submitted, mapped and waited for."""

from __future__ import annotations

from typing import Any

import dask
from prefect import allow_failure, task, unmapped
from prefect.futures import as_completed, wait
from prefect.utilities.annotations import quote
from prefect_dask import get_dask_client

from .row import Row
from .tasks import add, add_later, fails, numbers, same, total


def sync_and_async_tasks() -> list[int]:
    return [add.submit(1).result(), add_later.submit(2).result(), add(add_later.submit(3))]


async def async_flow_of_both() -> list[int]:
    later = add_later.submit(1)
    return [add.submit(later).result(), await add_later(5), add(2)]


def maps_of_known_and_unknown_length() -> list[Any]:
    grown = add.map(numbers.submit(3), y=unmapped(10))
    by_hand = add.map([1, 2], [10, 20])
    return [grown.result(), by_hand.result(), total.submit(grown).result()]


def maps_over_nothing() -> list[Any]:
    return [add.map([]).result(), add.map(numbers.submit(0)).result()]


def maps_that_cannot_be() -> list[str]:
    said = []
    for arguments in (([1, 2], [1]), (1, 2)):
        try:
            add.map(*arguments)
        except Exception as error:
            said.append(type(error).__name__)
    return said


def maps_over_async_tasks_and_failures() -> list[Any]:
    states = [each.wait() or each.state.name for each in add_later.map([1, 2])]
    broken = fails.map(["one", "two"], return_state=True)
    return [states, [each.name for each in broken]]


def waits_for_good_and_bad() -> list[str]:
    good, bad = add.submit(1), fails.submit()
    after_good = add.submit(1, wait_for=[good])
    after_bad = add.submit(1, wait_for=[bad])
    allowed = same.submit(allow_failure(bad))
    for each in (after_good, after_bad, allowed):
        each.wait()
    return [str(each.state.name) for each in (after_good, after_bad, allowed)]


def results_in_branches_and_loops() -> int:
    value = add.submit(0).result()
    while value < 4:
        value = (add if value % 2 else add_later).submit(value).result()
    return value


def waits_in_every_way() -> list[Any]:
    futures = [add.submit(i) for i in range(3)]
    wait(futures[:1])
    seen = sorted(each.result() for each in as_completed(futures))
    last = add.map([5, 6])
    last.wait()
    return [seen, last.result(), sorted(each.result() for each in wait(list(last)).done)]


@task
def never_before(seconds: float) -> None:
    from . import gate

    gate.wait(seconds)


def waits_not_for_long() -> list[str]:
    """A result that is not there in time is a TimeoutError."""
    from . import gate

    gate.close()
    slow = never_before.submit(30.0)
    said = []
    try:
        slow.result(timeout=0.05)
    except TimeoutError as error:
        said.append(type(error).__name__)
    slow.wait(timeout=0.01)
    gate.open()
    slow.wait()
    return [*said, str(slow.state.name)]


def futures_nobody_waits_for() -> int:
    fails.submit("unseen")
    return add.submit(1).result() + add.submit(2).result()


def returns_many_futures() -> Any:
    return {"good": add.submit(1), "bad": [fails.submit()]}


def quoted_and_nested() -> list[Any]:
    inside = {"a": [add.submit(1)], "b": {"c": (add.submit(2),)}}
    return [same.submit(inside).result(), same.submit(quote([1, 2])).result()]


def annotated() -> int:
    with dask.annotate(workers=["0"], allow_other_workers=True, priority=3, retries=1):
        first = add.submit(1)
    return add.submit(first).result()


def arguments_that_cannot_travel() -> list[str]:
    from threading import Lock

    said = []
    try:
        same.submit(Lock())
    except Exception as error:
        said.append(type(error).__name__)
    return [*said, str(add.submit(1).result())]


def uses_the_client_of_dask() -> list[int]:
    future = add.submit(1)
    with get_dask_client() as client:
        state = client.submit(lambda state: state, future.wrapped_future).result()
        plain = client.submit(lambda x: x + 1, 3).result()
    return [state.result(_sync=True), plain]


ROWS = [
    Row(sync_and_async_tasks),
    Row(async_flow_of_both),
    Row(maps_of_known_and_unknown_length),
    Row(maps_over_nothing),
    Row(maps_that_cannot_be, slow=True),
    Row(maps_over_async_tasks_and_failures, slow=True),
    Row(waits_for_good_and_bad),
    Row(results_in_branches_and_loops),
    Row(waits_in_every_way, slow=True),
    Row(waits_not_for_long),
    Row(futures_nobody_waits_for),
    Row(returns_many_futures),
    Row(quoted_and_nested, slow=True),
    Row(annotated),
    Row(arguments_that_cannot_travel),
    Row(uses_the_client_of_dask),
]
