"""Recurrent modules of flax and equinox, as they come: most have no affine carry."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.case import Case, normal

B, L, E = 2, 20, 6

Made = tuple[Callable[..., Any], Any]


def _case(name: str, needs: str, make: Callable[[], Made]) -> Case:
    """A module that is made when it is first used: its function of parameters and x [B, L, E]."""
    made = functools.cache(make)

    def arguments() -> tuple[Any, ...]:
        return jax.tree.map(np.asarray, made()[1]), normal(B, L, E, seed=5)

    def function(parameters: Any, x: Array) -> Any:
        return made()[0](parameters, x)

    return Case(name, function, arguments, moving=(0, 1), carried=1, needs=(needs,))


def _linen(cell: str, reverse: bool = False) -> Made:
    import flax.linen as nn

    module = nn.RNN(getattr(nn, cell)(features=E), reverse=reverse, keep_order=reverse)
    return module.apply, module.init(jax.random.key(0), jnp.zeros((B, L, E)))


def _nnx(cell: str) -> Made:
    from flax import nnx

    module = nnx.RNN(getattr(nnx, cell)(E, E, rngs=nnx.Rngs(0)))
    graph, state, rest = nnx.split(module, nnx.Param, ...)

    def function(state: Any, x: Array) -> Any:
        mine = jax.tree.map(jnp.copy, rest)  # counters of random keys belong to one trace
        return nnx.merge(graph, state, mine)(x)

    return function, state


def _equinox(cell: str) -> Made:
    import equinox

    module = getattr(equinox.nn, cell)(E, E, key=jax.random.key(1))
    arrays, static = equinox.partition(module, equinox.is_array)
    start = (jnp.zeros(E),) * 2 if cell == "LSTMCell" else jnp.zeros(E)

    def function(arrays: Any, x: Array) -> Any:
        module = equinox.combine(arrays, static)

        def step(carry: Any, each: Array) -> tuple[Any, Any]:
            carry = module(each, carry)
            return carry, jax.tree.leaves(carry)[0]

        first = jax.tree.map(lambda each: each.astype(x.dtype), start)
        return jax.vmap(lambda sequence: jax.lax.scan(step, first, sequence)[1])(x)

    return function, arrays


STOCK = [
    *(
        _case(f"linen {cell}", "flax", functools.partial(_linen, cell))
        for cell in ("SimpleCell", "GRUCell", "MGUCell", "LSTMCell", "OptimizedLSTMCell")
    ),
    _case("linen GRUCell, reversed", "flax", lambda: _linen("GRUCell", reverse=True)),
    *(
        _case(f"nnx {cell}", "flax", functools.partial(_nnx, cell))
        for cell in ("SimpleCell", "GRUCell", "LSTMCell", "OptimizedLSTMCell")
    ),
    *(
        _case(f"equinox {cell}", "equinox", functools.partial(_equinox, cell))
        for cell in ("GRUCell", "LSTMCell")
    ),
]
