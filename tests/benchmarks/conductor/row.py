"""Rows: what was measured of a case, plain and conducted, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import conduct
from tests.benchmarks.conductor.case import Case

TURN_S = 1.0
"""Seconds for which a function is called again and again before it is timed, and while it is."""


@dataclass(frozen=True)
class Row:
    """Attributes:
    seconds, temp_bytes: of plain ``jax.jit`` and of the conducted function; medians, exact.
    error: largest difference between the two, relative to the largest value of each output.
    conducting, compiling: seconds until the conducted function was there, and until XLA had
        compiled it.
    sites: what was found, and chosen.
    """

    name: str
    seconds: tuple[float, float]
    temp_bytes: tuple[int, int]
    error: float
    conducting: float
    compiling: tuple[float, float]
    sites: list[str]
    asked_time: float | None
    asked_memory: float | None

    @property
    def time_ratio(self) -> float:
        return self.seconds[0] / self.seconds[1]

    @property
    def memory_ratio(self) -> float:
        return self.temp_bytes[0] / max(1, self.temp_bytes[1])

    def as_json(self) -> dict[str, Any]:
        ratios = {"time_ratio": round(self.time_ratio, 3), "memory_ratio": self.memory_ratio}
        return asdict(self) | ratios


def measured(case: Case, rounds: int) -> Row:
    """Both compiled, then run in turns."""
    function, args = case.make()
    ours = conduct(function, objective=case.objective)
    begun = time.perf_counter()
    lowered = jax.jit(ours).lower(*args)
    conducting = time.perf_counter() - begun
    plain, plain_compiling = _compiled(jax.jit(function).lower(*args))
    other, compiling = _compiled(lowered)
    error = _error(plain(*args), other(*args))
    return Row(
        case.name,
        _in_turns(plain, other, args, rounds),
        (_temp_bytes(plain), _temp_bytes(other)),
        error,
        conducting,
        (plain_compiling, compiling),
        [f"{site.rewrite}: {site.found} -> {site.chosen}" for site in _sites(ours, args)],
        case.time,
        case.memory,
    )


def _sites(ours: Any, args: Sequence[Any]) -> Sequence[Any]:
    return [site for part in ours.explain(*args).sections for site in part.sites]


def _compiled(lowered: Any) -> tuple[Any, float]:
    begun = time.perf_counter()
    return lowered.compile(), time.perf_counter() - begun


def _temp_bytes(compiled: Any) -> int:
    return int(compiled.memory_analysis().temp_size_in_bytes)


def _in_turns(
    one: Callable[..., Any], two: Callable[..., Any], args: Sequence[Any], rounds: int
) -> tuple[float, float]:
    """Seconds of a call of each among calls of the same function, which pay for what the ones
    before have left: the system takes memory back long after it was given up."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, seconds in zip((one, two), taken, strict=True):
            _calls(function, args)
            seconds += _calls(function, args)
    return statistics.median(taken[0]), statistics.median(taken[1])


def _calls(function: Callable[..., Any], args: Sequence[Any]) -> list[float]:
    """Seconds of each of as many calls as there are in a turn."""
    taken: list[float] = []
    while len(taken) < 2 or sum(taken) < TURN_S:
        begun = time.perf_counter()
        jax.block_until_ready(function(*args))
        taken.append(time.perf_counter() - begun)
    return taken


def _error(expected: Any, found: Any) -> float:
    worst = 0.0
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        x, y = np.asarray(a).astype("complex128"), np.asarray(b).astype("complex128")
        scale = np.max(np.abs(x), initial=0.0)
        worst = max(worst, float(np.max(np.abs(x - y), initial=0.0) / (scale or 1.0)))
    return worst
