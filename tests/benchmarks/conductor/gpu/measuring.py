"""Functions compiled and timed, ours and another one's in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import conduct
from tests.benchmarks.conductor.gpu.row import GpuRow

CALLS = 10
"""Of which each round takes the mean."""


def compiled(function: Any, *arrays: Any) -> Any:
    return jax.jit(function).lower(*arrays).compile()


def planned(function: Any, *arrays: Any) -> tuple[Any, float]:
    """Conducted and compiled, and the seconds that this took."""
    begun = time.perf_counter()
    return compiled(conduct(function), *arrays), time.perf_counter() - begun


def memory(plain: Any, ours: Any) -> float:
    was, now = (each.memory_analysis().temp_size_in_bytes for each in (plain, ours))
    return float(was / max(now, 1))


def in_turns(functions: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Seconds of a call, medians of rounds that take turns."""
    taken: list[list[float]] = [[] for _ in functions]
    for function in functions:
        jax.block_until_ready(function())
    for _ in range(rounds):
        for function, seconds in zip(functions, taken, strict=True):
            begun = time.perf_counter()
            jax.block_until_ready([function() for _ in range(CALLS)])
            seconds.append((time.perf_counter() - begun) / CALLS)
    return [statistics.median(each) for each in taken]


def error(expected: Any, found: Any) -> float:
    x, y = np.asarray(expected).astype("complex128"), np.asarray(found).astype("complex128")
    return float(np.max(np.abs(x - y), initial=0.0) / (np.max(np.abs(x), initial=0.0) or 1.0))


def errors(expected: Any, found: Any) -> float:
    pairs = zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True)
    return max(error(one, other) for one, other in pairs)


def against_plain(
    function: Any, arrays: Sequence[Any], name: str, asked: float, rounds: int
) -> GpuRow:
    ours, took = planned(function, *arrays)
    plain = compiled(function, *arrays)
    mine, other = in_turns([partial(ours, *arrays), partial(plain, *arrays)], rounds)
    error, less = errors(plain(*arrays), ours(*arrays)), memory(plain, ours)
    return GpuRow(name, asked, other / mine, error, mine, other, memory=less, planned=took)
