"""The body of a flow that submits a workload, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from prefect import task

from tests.benchmarks.live.tasks import number_of, work
from tests.benchmarks.live.workload import Key, Workload


class Body:
    """Callable without arguments. `seconds`: of its last call, from first submission to results."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.seconds = 0.0
        self.numbers: dict[Key, int] = {}
        kinds = {_kind(key) for key in workload.steps}
        self._tasks: dict[str, Any] = {kind: task(_step, name=kind) for kind in kinds}

    def function(self) -> Callable[[], None]:
        def body() -> None:
            begun = time.perf_counter()
            self.numbers = self._results()
            self.seconds = time.perf_counter() - begun

        return body

    def is_right(self) -> bool:
        """Did the last call find what a plain sum of all inputs finds?"""
        right = self.workload.numbers()
        return self.numbers == {key: right[key] for key in self.workload.wanted}

    def _results(self) -> dict[Key, int]:
        futures: dict[Key, Any] = {}
        for key, step in self.workload.steps.items():
            inputs = [futures[each] for each in step.inputs]
            futures[key] = self._tasks[_kind(key)].submit(step.seconds, step.nbytes, inputs)
        return {key: number_of(futures[key].result()) for key in self.workload.wanted}


def _kind(key: Key) -> str:
    return str(key[0]) if isinstance(key, tuple) else str(key)


def _step(seconds: float, nbytes: int, inputs: list[bytes]) -> bytes:
    return work(seconds, nbytes, *inputs)
