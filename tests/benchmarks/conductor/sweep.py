"""Is anything ever slower? Ordinary functions, conducted against plain ``jax.jit``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from orchestrator_core.conductor import conduct
from tests.benchmarks.conductor.cases.ordinary import ORDINARY, Ordinary

LEAST = 0.97
"""The ratio of plain seconds to ours below which a function counts as slower."""

RUN_S = 0.02
"""Seconds for which one of the two is run before the other has its turn."""


def sweep(rounds: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Of each function whose name has one of these in it: the median of plain seconds by ours, in
    turns; those that look slower are measured again with three times as many turns."""
    for name, ordinary in ORDINARY.items():
        if any(part in name for part in names):
            row = _measured(name, ordinary, rounds)
            yield row if row["ratio"] >= LEAST else _measured(name, ordinary, 3 * rounds)


def _measured(name: str, ordinary: Ordinary, rounds: int) -> dict[str, Any]:
    function, args = ordinary
    ours = conduct(function)
    plain, other = jax.jit(function), ours
    for each in (plain, other):
        jax.block_until_ready(each(*args))
    many = max(1, round(RUN_S / _seconds(plain, args, 1)))
    pairs = [(_seconds(plain, args, many), _seconds(other, args, many)) for _ in range(rounds)]
    sites = [site for part in ours.explain(*args).sections for site in part.sites]
    return {
        "name": name,
        "ratio": statistics.median(a / b for a, b in pairs),
        "plain_ms": statistics.median(a for a, _ in pairs) / many * 1e3,
        "changed": [f"{site.rewrite}: {site.chosen}" for site in sites if site.is_changed],
    }


def _seconds(function: Any, args: Sequence[Any], many: int) -> float:
    begun = time.perf_counter()
    for _ in range(many):
        made = function(*args)
    jax.block_until_ready(made)
    return time.perf_counter() - begun


def line(row: dict[str, Any]) -> str:
    sign = "slower" if row["ratio"] < LEAST else ""
    said = f"{row['name']:<40} {row['ratio']:>6.3f} {row['plain_ms']:>9.3f} ms {sign:<7}"
    return f"{said} {'; '.join(row['changed'])}".rstrip()
