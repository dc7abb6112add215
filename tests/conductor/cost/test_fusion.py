"""Kernels are what XLA makes of a graph."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.cost import peak
from orchestrator_core.conductor.cost.fusion import groups
from orchestrator_core.conductor.ir.read import read


def kernels(function: Any, *shapes: tuple[int, ...], platform: str = "cpu") -> list[str]:
    """The names of the nodes of each kernel, the last first."""
    graph = read(jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct(s, "float32") for s in shapes]))
    return [" ".join(node.name for node in group.nodes) for group in groups(graph, platform)]


def softmax(x: Any) -> Any:
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_a_chain_of_loops_is_one_kernel() -> None:
    assert kernels(lambda x: jnp.sin(x * 2) + 1, (8,)) == ["add sin mul"]


def test_what_is_computed_twice_is_computed_once() -> None:
    assert kernels(lambda x: (x @ x) + (x @ x), (16, 16)) == ["dot_general", "add"]


def test_an_expensive_value_for_two_kernels_is_kept_and_a_cheap_one_is_not() -> None:
    def function(make: Any) -> Any:
        return lambda x, w: (make(x).sum(1), make(x)[:, None] * w)

    shapes = (8, 16), (8, 4, 16)
    assert len(kernels(function(jnp.exp), *shapes)) == 3
    assert len(kernels(function(lambda x: 2 * x), *shapes)) == 2


def test_plain_attention_with_many_rows_is_one_kernel_on_a_cpu_and_a_mask_ends_it() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        return softmax(q @ k.T) @ v

    def masked(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.T
        return softmax(jnp.where(scores > 0, scores, -1.0)) @ v

    many, few = [(4096, 16)] * 3, [(1024, 16)] * 3
    assert len(kernels(attention, *many)) == 1
    assert len(kernels(attention, *few)) > 1
    assert len(kernels(masked, *many)) == 3
    assert len(kernels(attention, *many, platform="gpu")) > 1


def test_a_transposed_product_is_a_product_of_transposes() -> None:
    assert kernels(lambda x, y: (x.T @ y).T, (8, 16), (8, 4)) == ["dot_general"]


def test_operands_with_mixed_axes_are_copied_first() -> None:
    def heads(q: Any, k: Any) -> Any:
        return jnp.einsum("bqhd,bkhd->bhqk", q, k)

    assert kernels(heads, (2, 8, 3, 4), (2, 8, 3, 4)) == ["transpose", "transpose", "dot_general"]


def test_a_slice_is_read_and_not_the_whole() -> None:
    graph = read(jax.make_jaxpr(lambda x: jnp.sin(x[:2]))(jnp.ones((100, 3))))
    (group,) = groups(graph, "cpu")
    assert sum(group.reads.values()) == 2 * 3 * 4


def padded(x: Any) -> Any:
    return jnp.pad(x, ((1, 1), (0, 0)))


def joined(x: Any) -> Any:
    return jnp.concatenate([x, 2 * x])


def rotated(x: Any) -> Any:
    """Rotary embedding: each pair of the two halves of a row is turned by an angle of its own."""
    length, width = x.shape[1], x.shape[-1]
    rates = 1e4 ** (-jnp.arange(0, width, 2) / width)
    angles = (jnp.arange(length)[:, None] * rates)[None, :, None]
    a, b = jnp.split(x, 2, -1)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


@pytest.mark.parametrize(("width", "is_one"), [(64, True), (126, True), (128, False)])
def test_angles_are_made_where_they_are_read_and_rows_below_128_joined_there(
    width: int, is_one: bool
) -> None:
    """The rates, which are powers, are kept. Of longer rows both halves are kept, too."""
    x = jax.ShapeDtypeStruct((2, 64, 4, width), "float32")
    compiled = jax.jit(rotated).lower(x).compile()
    assert compiled.as_text().split("ENTRY")[1].count("fusion(") == (2 if is_one else 3)
    assert len(kernels(rotated, x.shape)) == (2 if is_one else 4)
    graph = read(jax.make_jaxpr(rotated)(x))
    temporary = compiled.memory_analysis().temp_size_in_bytes
    assert peak(graph, "cpu") == pytest.approx(temporary, abs=1024)


@pytest.mark.parametrize("make", [padded, joined, lambda x: x / (1 + x)])
def test_what_asks_where_its_elements_are_from_is_read_from_one_place_or_kept(make: Any) -> None:
    """And what is dear and reads two arrays. Others are done again, or once for both places."""

    def once(x: Any) -> Any:
        return make(x) * 3

    def twice(x: Any) -> Any:
        return (lambda y: y[1:] * 3 + y[:-1])(make(x))

    def by_two(x: Any) -> Any:
        return (lambda y: (y[1:] * 3, y[:-1] + 1))(make(x))

    shape = (64, 16)
    assert [len(kernels(each, shape)) for each in (once, twice, by_two)] == [1, 2, 3]
    assert len(kernels(lambda x: (lambda y: y[1:] + y[:-1])(jnp.sin(x)), shape)) == 1


def test_two_kernels_that_are_nothing_else_make_what_is_joined_each_for_itself() -> None:
    assert len(kernels(lambda x, y: (padded(x) * y, jnp.abs(padded(x))), (62, 16), (64, 16))) == 2


def test_one_kernel_may_read_what_is_padded_at_one_place_twice() -> None:
    def square(x: Any) -> Any:
        return (lambda y: y * y)(padded(x) * 2)

    def shifted(x: Any) -> Any:
        return (lambda y: y[1:] * y[:-1])(padded(x) * 2)

    assert [len(kernels(each, (64, 16))) for each in (square, shifted)] == [1, 2]


def test_a_row_is_inverted_before_all_are_divided_by_it() -> None:
    spread, thin = (
        kernels(function, (8, 16), (16,))
        for function in (lambda x, y: x / (y * y)[None], lambda x, y: jax.lax.div(x, y[None] * y))
    )
    assert spread[0] == "integer_pow mul"
    assert [len(spread), len(thin)] == [2, 2]
    assert "div" not in spread[1] + thin[1]


def test_a_product_with_one_or_nothing_is_a_choice() -> None:
    """Which no library takes: it is an array before the sum."""
    made = kernels(lambda x, y: (x * (y > 0)).sum(1), (64, 128), (64, 128))
    assert made == ["select_n gt", "reduce_sum"]


def test_a_long_sum_that_no_library_takes_reads_an_array() -> None:
    """XLA sums windows of it first, into which nothing is fused. Largest elements by place and
    short sums make themselves what they read."""

    def function(reduce: Any) -> Any:
        return lambda x: reduce((x * 7).astype("int32") + 1)

    long, short = (64, 4096), (4096, 32)
    total, place = lambda x: x.sum(1), lambda x: x.argmax(1)
    assert [len(kernels(function(total), each)) for each in (long, short)] == [2, 1]
    assert len(kernels(function(place), long)) == 1


def test_the_larger_of_two_least_numbers_is_either() -> None:
    def function(x: Any) -> Any:
        return x + jnp.maximum(jnp.float32(-jnp.inf), jnp.float32(-jnp.inf))

    assert kernels(function, (8,)) == ["add"]


def test_what_makes_nothing_is_a_kernel() -> None:
    def function(x: Any) -> Any:
        jax.debug.print("{}", x)
        return 2 * x

    assert kernels(function, (8,))[1:] == ["mul"]
