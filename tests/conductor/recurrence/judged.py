"""Rewritten recurrences, judged by the original in 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import Goal, Site, _jax
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.recurrence.rewrite import recurrence
from tests.conductor.hurry import IN_A_HURRY

ALWAYS = Goal(always=True)


def rewritten(
    function: Callable[..., Any], arrays: Sequence[Any], goal: Goal = ALWAYS
) -> tuple[Callable[..., list[Any]], list[Site], Graph]:
    """The function of flat results as the rewrite leaves it, what it has found, and its graph."""
    graph = read(_jax.trace(lambda *a: jax.tree.leaves(function(*a)), arrays))
    graph, sites = recurrence(graph, goal)
    return lambda *a: evaluate(graph, a), sites, graph


def normal(*shapes: tuple[int, ...], seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    return [jnp.asarray(random.normal(size=shape), jnp.float32) for shape in shapes]


def with_gradients(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """What a function returns, and the gradient of the sum of its squares."""

    def loss(*arrays: Any) -> Any:
        made = jax.tree.leaves(function(*arrays))
        smooth = [x for x in made if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((x * x).sum() for x in smooth), made

    return jax.value_and_grad(loss, argnums=tuple(range(count)), has_aux=True)


def run(function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """Compiled in a hurry."""
    return jax.jit(function, compiler_options=IN_A_HURRY)(*arrays)


def errors(function: Callable[..., Any], made: Sequence[Any], arrays: Sequence[Any]) -> list[float]:
    """Of each result, relative to the largest number in it as 64 bits have it; infinity where one
    is finite and the other is not."""
    with jax.enable_x64(True):
        wide = [np.asarray(x, np.float64) for x in arrays]
        exact = [np.asarray(x) for x in run(lambda *a: jax.tree.leaves(function(*a)), wide)]
    return [error(np.asarray(a), b) for a, b in zip(made, exact, strict=True)]


def error(made: Any, exact: Any) -> float:
    if not np.array_equal(np.isfinite(made), np.isfinite(exact)):
        return float("inf")
    finite = np.isfinite(exact)
    if not finite.any():
        return 0.0
    return float(np.abs(made - exact)[finite].max() / (np.abs(exact[finite]).max() + 1e-30))
