"""Tiles whose products all cores share, at no cost of memory."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.tile.rewrite import tiled
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.shared import LARGE, are_shared

from .tiling import check, flat, in_tiles, passes

Array = jax.Array


def attention(q: Array, k: Array, v: Array) -> Array:
    position = jnp.arange(q.shape[-2])
    s = q @ k.mT / q.shape[-1] ** 0.5
    return jax.nn.softmax(jnp.where(position[:, None] >= position[None], s, -1e30)) @ v


def loss(q: Array, k: Array, v: Array) -> Array:
    return (attention(q, k, v) ** 2).sum()


def chosen(function: Any, shape: tuple[int, ...], goal: Goal) -> list[Any]:
    """What runs the passes over tiles that are chosen."""
    given = [jax.ShapeDtypeStruct(shape, "float32")] * 3
    graph, _ = tiled(read(jax.make_jaxpr(flat(function))(*given)), goal, TileSettings())
    return [node.params["runner"] for node in passes(graph)]


def test_tiles_are_widened_until_their_products_are_large() -> None:
    """Of one head, 2 * 256 * 512 * 64 flops are just enough; of 256 x 256 tiles half of it."""
    runners = chosen(jax.value_and_grad(loss, (0, 1, 2)), (1, 4, 4096, 64), Goal())
    assert len(runners) == 2
    for runner in runners:
        one = runner.one
        assert (runner.size[one.outer], runner.size[one.inner]) == (256, 512)
        assert are_shared(one, runner.size)
        assert not are_shared(one, {"i": 256, "j": 256})
    assert LARGE == 2 * 256 * 512 * 64


@pytest.mark.parametrize("goal", [Goal(objective="memory"), Goal(memory=2**23)])
def test_where_memory_counts_tiles_stay_small(goal: Goal) -> None:
    (runner,) = chosen(attention, (1, 4, 4096, 64), goal)
    assert runner.size["i"] * runner.size["j"] <= 256 * 256


def test_a_gpu_shares_all_products() -> None:
    with on_device(known_device("NVIDIA H200", "gpu")):
        runners = chosen(attention, (1, 4, 4096, 64), Goal())
    assert all(runner.size["i"] == runner.size["j"] for runner in runners)


@pytest.mark.parametrize("shape", [(32, 16), pytest.param((16, 48), marks=pytest.mark.slow)])
def test_tiles_that_are_no_squares(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    qkv = [jnp.asarray(random.normal(size=(2, 96, 4)), "float32") for _ in range(3)]
    settings = TileSettings(min_elements=2**10, min_axis=40, shape=shape, always=True)
    graph = check(jax.value_and_grad(loss, (0, 1, 2)), qkv, settings)
    assert {tuple(sorted(node.params["runner"].size.values())) for node in passes(graph)} == {
        tuple(sorted(shape))
    }


@pytest.mark.parametrize("alone", [0, 1, 96])
def test_what_is_seldom_needed_is_the_same_made_late_or_at_once(alone: int) -> None:
    """Of some rows, the last, one element is all that counts: their sums are taken once more."""
    random = np.random.default_rng(1)
    graph, _ = in_tiles(jax.value_and_grad(loss, (0, 1, 2)), [jnp.ones((1, 96, 4))] * 3)
    recipe = passes(graph)[-1].params["runner"].one.recipe
    (step,) = (step for step in recipe.steps if step.late)
    made = {v: jnp.asarray(random.normal(size=v.shape), v.dtype) for v in recipe.values}
    limit = np.full(step.inputs[1][0].shape, np.inf, "float32")
    limit[..., 96 - alone :] = -100.0
    made[step.inputs[1][0]] = jnp.asarray(limit)
    place = Tile({"i": 64, "j": 0}, {"i": 32, "j": 32})

    def tile(waits: bool) -> Any:
        def cut(key: Any) -> Any:
            return place.of(made[key[0]], key[1])

        return jax.jit(lambda: recipe.tiles(cut, place, waits=waits)[step.made])()

    read_off = np.asarray(place.of(made[step.inputs[0][0]], step.made[1]))
    np.testing.assert_array_equal(tile(True), tile(False))
    assert (np.asarray(tile(True)) != read_off).sum() == min(alone, 32)
