"""Tasks that flows of the table share."""

from __future__ import annotations

from typing import Any

from prefect import task


@task
def add(x: int, y: int = 1) -> int:
    return x + y


@task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@task
def numbers(count: int) -> list[int]:
    return list(range(count))


@task
def fails(message: str = "wrong") -> None:
    raise ValueError(message)


@task
async def add_later(x: int, y: int = 1) -> int:
    return x + y


@task
def same(value: Any) -> Any:
    return value
