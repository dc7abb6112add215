"""Random bits drawn by tile are the bits of the whole."""

from __future__ import annotations

import gc
import weakref

import jax
import numpy as np
import pytest

from orchestrator_core.conductor.facts.axes import Spec, Untileable
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read

TILED: Spec = (((2, None),), ((6, "i"),), ((5, None), (4, "j")))
"""Of (2, 6, 20), whose last axis is five times four, tiled along the four."""

PLACE = Tile({"i": 2, "j": 1}, {"i": 3, "j": 2})


def drawing(key: jax.Array, width: int) -> Node:
    def draw(key: jax.Array) -> jax.Array:
        each = lambda key: jax.random.bits(key, (2, 6, 20), f"uint{width}")  # noqa: E731
        return jax.vmap(each)(key) if key.shape else each(key)

    graph = read(jax.make_jaxpr(draw)(key))
    (node,) = [node for node in graph.nodes if node.name == "random_bits"]
    return node


@pytest.mark.parametrize(
    ("width", "keys"), [pytest.param(8, 3, marks=pytest.mark.slow), (16, None), (32, None)]
)
def test_a_tile_draws_the_bits_of_its_place(width: int, keys: int | None) -> None:
    key = jax.random.key(5) if keys is None else jax.random.split(jax.random.key(5), keys)
    node = drawing(key, width)
    spec = TILED if keys is None else (((keys, None),), *TILED)
    (given,) = rule_of(node).back(node, spec)
    assert given == spec[: len(key.shape)]
    made = rule_of(node).evaluate(node, spec, [key], PLACE)
    whole = np.asarray(node.apply([key])[0]).reshape(*key.shape, 2, 6, 5, 4)
    expected = whole[..., 2:5, :, 1:3].reshape(*key.shape, 2, 3, 10)
    np.testing.assert_array_equal(made, expected)
    assert made.dtype == expected.dtype


def test_the_same_where_numbers_may_have_64_bits() -> None:
    with jax.enable_x64(True):
        node = drawing(jax.random.key(5), 64)
        made = rule_of(node).evaluate(node, TILED, [jax.random.key(5)], PLACE)
        whole = np.asarray(node.apply([jax.random.key(5)])[0]).reshape(2, 6, 5, 4)
        np.testing.assert_array_equal(made, whole[:, 2:5, :, 1:3].reshape(2, 3, 10))


def test_what_draws_the_whole_at_once_is_not_tiled() -> None:
    other = drawing(jax.random.key(5, impl="rbg"), 32)
    with pytest.raises(Untileable, match="all that is drawn"):
        rule_of(other).back(other, TILED)
    with jax.threefry_partitionable(False):
        old = drawing(jax.random.key(5), 32)
    with pytest.raises(Untileable, match="all that is drawn"):
        rule_of(old).back(old, TILED)
    several = drawing(jax.random.split(jax.random.key(5), 3), 32)
    with pytest.raises(Untileable, match="along the keys"):
        rule_of(several).back(several, (((3, "i"),), *TILED))


def test_what_was_asked_once_is_not_kept() -> None:
    node = drawing(jax.random.key(5), 32)
    rule_of(node).back(node, TILED)
    kept = weakref.ref(node.apply)
    del node
    gc.collect()
    assert kept() is None
