"""Arguments as people type them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.example import argument, value_and_gradient
from orchestrator_core.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("f32[4,128, 64]", (4, 128, 64), "float32"),
        ("bf16[8]", (8,), "bfloat16"),
        ("i32[]", (), "int32"),
        (" bool[2,0] ", (2, 0), "bool"),
        ("u8[1]", (1,), "uint8"),
        ("c64[3]", (3,), "complex64"),
        ("float32[4,2]", (4, 2), "float32"),
        ("bfloat16[]", (), "bfloat16"),
    ],
)
def test_shapes(text: str, shape: tuple[int, ...], dtype: str) -> None:
    made = argument(text)
    assert (made.shape, made.dtype) == (shape, jnp.dtype(dtype))


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("-2.5", -2.5), ("true", True), ("None", None), ("1e-3", 1e-3)]
)
def test_numbers_and_words(text: str, value: Any) -> None:
    made = argument(text)
    assert made == value
    assert type(made) is type(value)


def test_a_random_key() -> None:
    assert jnp.issubdtype(argument("key").dtype, jax.dtypes.prng_key)


@pytest.mark.parametrize("text", ["", "f32", "f32[", "f32[a]", "f33[2]", "relu"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"f32\[4,128,64\]"):
        argument(text)


def test_value_and_gradient_of_what_is_smooth() -> None:
    def function(x: jax.Array, which: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x[which] ** 2, which

    value, (gradient,) = value_and_gradient(function)(jnp.arange(3.0), jnp.asarray(2))
    assert value == 4.0
    assert gradient.tolist() == [0.0, 0.0, 4.0]


def test_arguments_with_names_are_moved_too() -> None:
    def function(x: jax.Array, *, by: jax.Array) -> jax.Array:
        return x * by

    _, gradients = value_and_gradient(function)(jnp.asarray(3.0), by=jnp.asarray(2.0))
    assert sorted(float(each) for each in gradients) == [2.0, 3.0]
