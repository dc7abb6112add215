"""What JAX makes of a function before, or after, it is conducted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from tests.conductor.corpus.case import Case, Function

Wrap: TypeAlias = Callable[[Function], Function]
"""`conduct`, or nothing."""

Transform: TypeAlias = Callable[[Case, Wrap], Function]


def forward(case: Case, wrap: Wrap) -> Function:
    return wrap(case.function)


def gradient_inside(case: Case, wrap: Wrap) -> Function:
    """As in a train step that is conducted as a whole."""
    return wrap(jax.value_and_grad(loss(case.function), case.moving))


def gradient_outside(case: Case, wrap: Wrap) -> Function:
    return jax.value_and_grad(loss(wrap(case.function)), case.moving)


def batched_inside(case: Case, wrap: Wrap) -> Function:
    return _in_two(wrap(jax.vmap(case.function)))


def batched_outside(case: Case, wrap: Wrap) -> Function:
    return _in_two(jax.vmap(wrap(case.function)))


def rematerialised(case: Case, wrap: Wrap) -> Function:
    return wrap(jax.value_and_grad(loss(jax.checkpoint(case.function)), case.moving))


def layered(case: Case, wrap: Wrap) -> Function:
    """Two layers in a loop, with a derivative through it."""

    def layers(*arguments: Any) -> Any:
        x = arguments[case.carried]

        def layer(x: Any, scale: Any) -> tuple[Any, None]:
            given = [*arguments]
            given[case.carried] = x * scale
            return x + case.function(*given).reshape(x.shape).astype(x.dtype), None

        return jax.lax.scan(layer, x, jnp.array([1.0, 0.5], x.dtype))[0]

    return wrap(jax.value_and_grad(loss(layers), case.moving))


TRANSFORMS: Mapping[str, Transform] = {
    each.__name__: each
    for each in (
        *(forward, gradient_inside, gradient_outside),
        *(batched_inside, batched_outside, rematerialised, layered),
    )
}


def loss(function: Function) -> Function:
    """One number of all that a function returns, at least in float32."""

    def of(*arguments: Any) -> Any:
        leaves = jax.tree.leaves(function(*arguments))
        return sum(jnp.sin(_wide(leaf)).sum() for leaf in leaves)

    return of


def _wide(leaf: Any) -> Any:
    if jnp.iscomplexobj(leaf):
        return jnp.abs(leaf)
    return leaf.astype(jnp.promote_types(leaf.dtype, jnp.float32))


def _in_two(function: Function) -> Function:
    """Of two examples, the second of which has half the numbers of the first."""

    def of(*arguments: Any) -> Any:
        return function(*jax.tree.map(_two, arguments))

    return of


def _two(leaf: Any) -> Any:
    is_number = jnp.issubdtype(leaf.dtype, jnp.floating)
    return jnp.stack([leaf, leaf / 2 if is_number else leaf])
