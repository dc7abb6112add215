"""Flows in flows and in tasks, generators, threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from prefect import task

from .current import made
from .row import Row
from .tasks import add, add_later, fails


def inner(x: int) -> int:
    return add.submit(x).result()


async def inner_later(x: int) -> int:
    return add_later.submit(x).result() + add.submit(x).result()


def inner_fails() -> None:
    add.submit(1)
    fails.submit("inside").result()


@task
def runs_a_flow(x: int) -> int:
    return int(made(inner)(x)) + 1


@task
def gives_three() -> Iterator[int]:
    yield from (1, 2, 3)


def subflows_in_line() -> list[Any]:
    state = made(inner_fails)(return_state=True)
    again = made(inner)(5, return_state=True)
    return [made(inner)(add.submit(1)), str(state.name), str(again.name)]


async def subflows_at_once() -> list[int]:
    return await asyncio.gather(*[made(inner_later)(i) for i in range(2)])


def subflow_fails() -> None:
    made(inner_fails)()


def subflow_in_a_task() -> int:
    return runs_a_flow.submit(add.submit(1)).result()


def generator_task() -> list[int]:
    return [add.submit(each).result() for each in gives_three()]


def generator_flow() -> Iterator[int]:
    for number in range(3):
        yield add.submit(number).result()


async def async_generator_flow() -> AsyncIterator[int]:
    for number in range(2):
        yield add_later.submit(number).result()


def flows_in_threads() -> list[int]:
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(copy_context().run, made(inner), i) for i in range(3)]
        return [each.result() for each in waiting]


ROWS = [
    Row(subflows_in_line, slow=True),
    Row(subflows_at_once, slow=True),
    Row(subflow_fails),
    Row(subflow_in_a_task),
    Row(generator_task, slow=True),
    Row(generator_flow, raises=True),
    Row(async_generator_flow, raises=True, slow=True),
    Row(flows_in_threads, slow=True),
]
