"""What is tiled, and what is better left alone; and what tiles keep in memory."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.site import Site

from .tiling import compiled, flat

Array = jax.Array
ONLY = frozenset({"tiling"})


def attention(q: Array, k: Array, v: Array) -> Array:
    position = jnp.arange(q.shape[-2])
    s = q @ k.mT / q.shape[-1] ** 0.5
    return jax.nn.softmax(jnp.where(position[:, None] >= position[None], s, -jnp.inf)) @ v


def loss(q: Array, k: Array, v: Array) -> Array:
    return (attention(q, k, v) ** 2).sum()


def cross_entropy(x: Array, w: Array, label: Array) -> Array:
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ w), label[:, None], 1).mean()


def shaped(*shape: int, dtype: str = "float32") -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def sites_of(function: Any, given: Any, objective: str) -> list[Site]:
    goal = Goal(objective=objective, allow=ONLY)
    return rewritten(read(jax.make_jaxpr(flat(function))(*given)), goal)[1]


@pytest.mark.parametrize(
    ("function", "less"), [(attention, 60), (jax.value_and_grad(loss, (0, 1, 2)), 40)]
)
def test_causal_attention_keeps_nothing_pairwise(function: Any, less: int) -> None:
    given = [shaped(1, 4, 4096, 64)] * 3
    graph, sites = rewritten(read(jax.make_jaxpr(flat(function))(*given)), Goal(allow=ONLY))
    assert [site.is_changed for site in sites] == [True]
    before = jax.jit(flat(function)).lower(*given).compile().memory_analysis()
    after = compiled(graph, given).memory_analysis()
    assert before.temp_size_in_bytes >= less * after.temp_size_in_bytes


def test_cross_entropy_is_tiled_for_memory_and_not_for_time() -> None:
    given = shaped(2048, 256), shaped(256, 50257), shaped(2048, dtype="int32")
    function = jax.value_and_grad(cross_entropy, (0, 1))
    (site,) = sites_of(function, given, "memory")
    assert site.is_changed
    (site,) = sites_of(function, given, "time")
    assert not site.is_changed
    assert "as it is" in site.reason


def test_small_values_are_left_alone() -> None:
    assert sites_of(attention, [shaped(1, 1, 64, 16)] * 3, "time") == []


def test_a_result_that_is_pairwise_is_left_alone() -> None:
    (site,) = sites_of(lambda q, k: jnp.exp(q @ k.T), [shaped(2048, 64)] * 2, "memory") or [None]
    assert site is None or not site.is_changed


def test_pairs_that_are_sorted_are_left_alone_with_a_reason() -> None:
    def nearest(x: Array) -> Array:
        apart = jnp.square(x[:, None] - x[None]).sum(-1)
        return jnp.argsort(apart, 1)[:, :3]

    (site,) = sites_of(nearest, [shaped(2048, 4)], "memory")
    assert not site.is_changed
    assert site.reason == "it is needed as a whole: sort is not done in tiles"


def test_bodies_of_loops_are_tiled() -> None:
    def layers(q: Array, k: Array, v: Array) -> Array:
        return jax.lax.scan(lambda x, _: (attention(x, k, v), None), q, length=3)[0]

    sites = sites_of(layers, [shaped(1, 4, 2048, 64)] * 3, "time")
    assert [site.is_changed for site in sites] == [True]


def test_a_site_says_what_was_found_and_chosen() -> None:
    (site,) = sites_of(attention, [shaped(1, 4, 4096, 64)] * 3, "time")
    assert site.found == "pairwise computation of 4 x 4096 x 4096"
    assert "1 pass of" in site.chosen
    assert "tiles may be skipped" in site.chosen
    assert "test_choose.py" in site.source
    assert site.before is not None
    assert site.after is not None
    assert site.after.seconds < site.before.seconds


@pytest.mark.parametrize("shape", [(3000, 1500), (2000, 1900), (2003, 1901)])
def test_tiles_leave_no_rest(shape: tuple[int, int]) -> None:
    """It would be compiled once more, along both axes four times: the last tile has less than eight
    elements in common with the one before it for each that there is."""

    def closeness(x: Array, y: Array) -> Array:
        return jnp.exp(-jnp.sum((x[:, None] - y[None]) ** 2, -1)).sum()

    given = [shaped(n, 8) for n in shape]
    (site,) = sites_of(jax.value_and_grad(closeness, (0, 1)), given, "time")
    assert site.is_changed
    for role, length in zip("ij", shape, strict=True):
        size = site.settings[role]
        assert size < length
        assert -length % size < 8 * math.ceil(length / size)
