"""A task that a task worker runs in the background, and what serves it in a process of its own."""

from __future__ import annotations

from prefect import task
from prefect.task_worker import serve


@task(persist_result=True, tags=["background"])
def background_add(x: int) -> int:
    if x < 0:
        raise ValueError("less than nothing")
    return x + 1


def main() -> None:
    serve(background_add)
