"""Arrays travel as integers and come back bit for bit, without a copy on the way out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from orchestrator_core.conductor.packed import pack, unpack

TYPES = (
    *("bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "float32", "complex64"),
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"),
)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_comes_back_bit_for_bit(name: str) -> None:
    host = np.arange(24).reshape(2, 3, 4).astype(np.dtype(getattr(ml_dtypes, name, name)))
    array = jnp.asarray(host)
    packed = pack(array)
    assert packed is not None
    assert packed[0] == name
    assert np.shares_memory(packed[1], np.asarray(array)), "a view, no copy"
    back = unpack(*packed)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert np.asarray(back).tobytes() == host.tobytes()


def test_nan_payloads_and_minus_zero_are_kept() -> None:
    bits = np.array([0x7FC0_1234, 0xFFC0_0001, 0x8000_0000], np.uint32)
    array = jnp.asarray(bits.view(np.float32))
    back = unpack(*pack(array))  # type: ignore[misc]
    assert np.asarray(back).view(np.uint32).tolist() == bits.tolist()


@pytest.mark.parametrize("name", ["float64", "int64", "complex128"])
def test_64_bits_stay_64_bits_where_jax_would_make_32_of_them(name: str) -> None:
    with jax.enable_x64(True):
        array = jnp.asarray(np.array([1, 3], name)) / 3
        expected = np.asarray(array).tobytes()
    back = unpack(*pack(array))  # type: ignore[misc]
    assert back.dtype == array.dtype
    assert np.asarray(back).tobytes() == expected


@pytest.mark.parametrize("made_by", ["threefry2x32", "rbg"])
def test_random_keys_draw_the_same(made_by: str) -> None:
    keys = jax.random.split(jax.random.key(7, impl=made_by), 3)
    back = unpack(*pack(keys))  # type: ignore[misc]
    assert back.dtype == keys.dtype
    assert back.shape == (3,)
    for a, b in zip(keys, back, strict=True):
        np.testing.assert_array_equal(jax.random.bits(a, (5,)), jax.random.bits(b, (5,)))


def test_arrays_of_the_type_of_python_numbers_are_left_to_jax() -> None:
    assert pack(jnp.asarray(3.0)) is None
