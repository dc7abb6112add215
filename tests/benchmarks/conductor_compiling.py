"""What the first call of a conducted function costs beside plain `jax.jit`: tracing with planning,
and XLA's compiling. The plan cache is off."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import jax

from orchestrator_core.conductor import conduct
from tests.benchmarks.conductor.case import Made
from tests.benchmarks.conductor.cases import attention, transformers

ROUNDS = 3

CASES: dict[str, Callable[[], Made]] = {
    "causal attention": lambda: attention.forward(attention.attention(attention.causal), 4, 1024),
    "causal attention, trained": lambda: attention.trained(
        attention.attention(attention.causal), 4, 1024
    ),
    "GPT of two layers, a step": lambda: transformers.train_step(2, 1024),
}


def measure() -> dict[str, Any]:
    """Seconds, medians, and lines of the compiled program."""
    with patch.dict(os.environ, {"ORCHESTRATOR_PLAN_CACHE": "off"}):
        return {name: _case(*made()) for name, made in CASES.items()}


def _case(function: Callable[..., Any], arrays: Any) -> dict[str, Any]:
    plain, conducted = [], []
    for _ in range(ROUNDS):
        plain.append(_compiled(function, arrays))
        conducted.append(_compiled(conduct(function), arrays))
    return {"plain": _medians(plain), "conducted": _medians(conducted)}


def _compiled(function: Callable[..., Any], arrays: Any) -> tuple[float, float, int]:
    """Seconds of tracing and of compiling, and lines."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    begun = time.perf_counter()
    lowered = jax.jit(lambda *a: function(*a)).lower(*arrays)
    traced = time.perf_counter()
    program = lowered.compile()
    done = time.perf_counter()
    return traced - begun, done - traced, len(str(program.as_text()).splitlines())


def _medians(rounds: list[tuple[float, float, int]]) -> dict[str, float]:
    tracing, compiling, lines = (statistics.median(each) for each in zip(*rounds, strict=True))
    return {"tracing": round(tracing, 2), "compiling": round(compiling, 2), "lines": int(lines)}
