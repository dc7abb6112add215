"""What runs in the processes of workers; nothing of the project, so that they start fast."""

from __future__ import annotations

import ctypes
import os
import sys
import time as clock
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from distributed import Event
from distributed.core import Status

from tests.chaos.workload import SLOWER, spend


class Unlucky(Exception):
    """Raised by tasks on purpose."""


def segfault_once(event: str, *inputs: Any) -> int:
    """The first call breaks its worker's process."""
    if not Event(event).is_set():
        Event(event).set()
        ctypes.string_at(0)
    return 1


def fail_until(event: str, *inputs: Any) -> int:
    """The first two calls fail."""
    spend(0.01)
    for name in (f"{event}-1", f"{event}-2"):
        if not Event(name).is_set():
            Event(name).set()
            raise Unlucky(name)
    return len(inputs)


def fail(*inputs: Any) -> int:
    spend(0.01)
    raise Unlucky("always")


def count(*inputs: Any) -> int:
    spend(0.01)
    return 1 + sum(number for number in inputs if isinstance(number, int))


def total(data: Any, *others: Any) -> float:
    spend(0.01)
    return float(np.sum(data)) + len(others)


def plus(*numbers: int) -> int:
    return 1 + sum(numbers)


class Counter:
    """An actor."""

    def __init__(self) -> None:
        self.n = 0

    def add(self, n: int) -> int:
        self.n += n
        return self.n


def say_status(status: str, dask_worker: Any = None) -> None:
    dask_worker.status = Status[status]


def set_slower(factor: float) -> None:
    """From the next task on the worker is slower by this factor."""
    os.environ[SLOWER] = str(factor)


def skew(seconds: float) -> int:
    """The whole process reads a clock that is wrong by so many seconds; how many modules do?"""
    steady = clock.time

    def skewed() -> float:
        return steady() + seconds

    changed = [module for module in list(sys.modules.values()) if reads(module, steady)]
    for module in changed:
        module.time = skewed  # type: ignore[attr-defined]
    return len(changed)


def reads(module: ModuleType, steady: Callable[[], float]) -> bool:
    """Does the module take its time from this clock under the name `time`?"""
    return vars(module).get("time") is steady
