"""Flows that take parameters."""

from __future__ import annotations

from datetime import date
from typing import Any

from prefect import task

from orchestrator_prefect import optimized_flow


@task
def load(i: int = 0) -> int:
    raise AssertionError("a task ran")


def many(names: list[str]) -> Any:
    return [load.with_options(name=name).submit() for name in dict.fromkeys(names)]


def branches(name: str) -> Any:
    return load.with_options(name=name).submit().result() > 3


def typed(days: list[date], n: int = 1) -> None:
    for day in days:
        for _ in range(n):
            load.with_options(name=f"{day.year}-{day.month}").submit()


@optimized_flow(estimates={"load": "2min ± 20s"})
def estimated() -> Any:
    load()
    return load.submit().result()


def of_flows(times: int) -> None:
    """Each under a name of its own."""
    for i in range(times):
        estimated.with_options(name=f"part-{i}")()
