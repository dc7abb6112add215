"""Random numbers, drawn by position."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.extend.random as extended_random

from orchestrator_core.conductor._jax.types import Aval


def draws_by_position(key: Aval, context: Callable[[], AbstractContextManager[Any]] | None) -> bool:
    """Are an element's bits those of Threefry of the key and the element's position, whatever else
    is drawn with it? So says a setting of JAX that an equation remembers.

    Args:
        context: what holds while the bits are drawn, as of `context_of`; None for nothing.
    """
    if getattr(key.dtype, "_impl", None) is not extended_random.threefry_prng_impl:
        return False
    with nullcontext() if context is None else context():
        return bool(jax.config.jax_threefry_partitionable)  # type: ignore[attr-defined]


def threefry(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Two words of 32 bits for each position, of which `high` and `low` are the words.

    Args:
        key: its two words along the last axis; the others are those of the positions, or 1.
    """
    primitive: Any = extended_random.threefry2x32_p
    first, second = primitive.bind(key[..., 0], key[..., 1], high, low)
    return first, second


_GENERATORS = {
    id(each): name
    for name in ("threefry", "rbg", "unsafe_rbg")
    if (each := getattr(extended_random, f"{name}_prng_impl"))
}


def generator(value: object) -> str:
    """The name of a generator of random numbers, if it is one of JAX's own; else empty."""
    return _GENERATORS.get(id(value), "")


def generator_of(dtype: Any) -> str:
    """Of a type of random keys; empty of other types, and if the generator is not JAX's own."""
    return generator(getattr(dtype, "_impl", None))
