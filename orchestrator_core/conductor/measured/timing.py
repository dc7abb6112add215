"""Functions timed on the device that is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

ROUNDS, CALLS = 4, 4
"""How often a function is timed, of which the fastest counts, and how many calls are under way
then: of a single one most may be the way to the GPU and back."""

REPEATS = 4
"""How often it is done in a call, one after the other, as the layers of a model are: only so it is
seen what it costs that a GPU waits for its host."""

Candidate = tuple[Callable[..., Any], Sequence[Any]]
"""A function, and the types of its arrays."""


def has_gpu() -> bool:
    return jax.default_backend() == "gpu"


def seconds(*candidates: Candidate) -> list[float]:
    """Of each, done again and again within one program on this machine's device. Somebody may be
    tracing outside, so they run in threads of their own, in which nobody does."""
    lowered = [jax.jit(repeated(*each)).trace(*each[1]).lower() for each in candidates]
    with ThreadPoolExecutor(len(lowered)) as threads:
        made = list(threads.map(lambda each: each.compile(), lowered))
        pairs = zip(made, candidates, strict=True)
        taken = [threads.submit(timed, run, avals).result() for run, (_, avals) in pairs]
    return [each / REPEATS for each in taken]


def repeated(function: Callable[..., Any], avals: Sequence[Any]) -> Callable[..., Any]:
    """Of the same arrays; each time must wait for the one before."""

    wait: Any = lax.optimization_barrier

    def several(*arrays: Any) -> Any:
        def again(_: Any, made: Any) -> Any:
            return function(*wait((arrays, made))[0])

        made = jax.eval_shape(function, *avals)
        none = jax.tree.map(lambda each: jnp.zeros(each.shape, each.dtype), made)
        return lax.fori_loop(0, REPEATS, again, none)

    return several


def timed(run: Any, avals: Sequence[Any]) -> float:
    """Seconds of one of some calls, of arrays of ones."""
    arrays = [jnp.ones(aval.shape, aval.dtype) for aval in avals]
    taken = []
    wait: Any = jax.block_until_ready
    wait(run(*arrays))
    for _ in range(ROUNDS):
        begun = perf_counter()
        wait([run(*arrays) for _ in range(CALLS)])
        taken.append((perf_counter() - begun) / CALLS)
    return min(taken)
