"""The clock: seconds of the original and of what has been made of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph

SLOWER = 1.03
"""A rewritten program that takes more than this times the original is not kept."""

ROUNDS = 7
BUDGET_S = 2.0
"""After this no further round begins; there are at least three."""


def measured(before: Graph, after: Graph, arrays: Sequence[Any]) -> tuple[float, float]:
    """Seconds of both, each the median of runs that take turns, the first in each round being the
    second in the next."""
    runs = [_compiled(graph, arrays) for graph in (before, after)]
    return timed_in_turns(runs)


def timed_in_turns(runs: Sequence[Callable[[], Any]]) -> tuple[float, float]:
    """Medians of two functions that end when their work is done."""
    times: tuple[list[float], list[float]] = ([], [])
    until = perf_counter() + BUDGET_S
    for turn in range(ROUNDS):
        if turn >= 3 and perf_counter() > until:
            break
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            start = perf_counter()
            runs[which]()
            times[which].append(perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def _compiled(graph: Graph, arrays: Sequence[Any]) -> Callable[[], Any]:
    """Compiled, and run once."""
    run = jax.jit(lambda *each: evaluate(graph, each)).lower(*arrays).compile()

    def once() -> None:
        for array in run(*arrays):
            array.block_until_ready()

    once()
    return once
