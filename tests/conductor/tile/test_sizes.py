"""Tiles of few sizes: each of them is compiled."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.conductor.facts.axes import ROLES
from orchestrator_core.conductor.tile.blocks import Blocks, Segment
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.sizes import near, uniform

from .tiling import check, in_tiles, passes

LENGTHS = st.integers(1, 3000)
MOST = st.integers(1, 256)
PRIME = 83


@given(LENGTHS, LENGTHS, MOST, MOST, st.sampled_from(ROLES))
def test_tiles_of_one_size_are_no_larger(i: int, j: int, m: int, n: int, first: str) -> None:
    length, most = {"i": i, "j": j}, {"i": min(m, i), "j": min(n, j)}
    made = uniform(length, most, first)
    room = math.prod(most.values())
    assert math.prod(made.values()) <= room
    for role, other in (ROLES, ROLES[::-1]):
        assert 1 <= made[role] <= length[role]
        if length[role] % made[role]:  # it was not possible
            assert made[role] == most[role]
            assert length[role] > math.prod(made.values()) or length[other] % made[other] == 0


def test_an_axis_without_a_divisor_is_not_cut() -> None:
    assert uniform({"i": 1100, "j": 1091}, {"i": 64, "j": 64}, "j") == {"i": 2, "j": 1091}
    assert uniform({"i": 1091, "j": 1100}, {"i": 64, "j": 64}, "j") == {"i": 1091, "j": 2}
    assert uniform({"i": 1024, "j": 1100}, {"i": 64, "j": 64}, "j") == {"i": 64, "j": 55}
    assert uniform({"i": 2048, "j": 50021}, {"i": 64, "j": 64}, "j") == {"i": 64, "j": 64}


@given(LENGTHS, MOST)
def test_tiles_that_leave_no_rest(length: int, wanted: int) -> None:
    made = near(length, wanted)
    close = [n for n in range(1, length + 1) if length % n == 0 and abs(n - wanted) <= wanted / 4]
    assert all(abs(made - wanted) <= abs(n - wanted) for n in close)
    assert made in close or not close
    assert near(length, made) == made


@given(LENGTHS, MOST)
def test_tiles_that_share_as_little_as_can_be(length: int, wanted: int) -> None:
    made = near(length, wanted)
    if length % made:
        count = math.ceil(length / made)
        assert made % 8 == 0
        assert count <= math.ceil(length / wanted)
        assert count * (made - 8) < length


def test_tiles_of_usual_lengths() -> None:
    assert near(2048, 256) == 256
    assert near(2000, 512) == 500
    assert near(1500, 128) == 125
    assert near(1009, 512) == 512  # a prime: two tiles share 15
    assert near(1091, 256) == 224  # five share 29 of 1091
    assert near(1437, 256) == 240


def test_where_tiles_are() -> None:
    blocks = Blocks({"i": (Segment(0, 2, 32), Segment(64, 1, 19)), "j": (Segment(0, 3, 10),)})
    assert (blocks.count("i"), blocks.count("j")) == (3, 3)
    first, last = blocks.ends("i")
    assert (first.tolist(), last.tolist()) == ([0, 32, 64], [31, 63, 82])
    assert Blocks.even({"i": 3, "j": 3}, {"i": 4, "j": 5}).ends("j")[1].tolist() == [4, 9, 14]


def arrays(rows: int, columns: int) -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(n, 4)).astype("float32") for n in (rows, columns))
    return jnp.asarray(x), jnp.asarray(y)


def runner_of(function: Any, given: Any) -> Runner:
    (node,) = passes(in_tiles(function, given)[0])
    return node.params["runner"]  # type: ignore[no-any-return]


def sizes(runner: Runner, role: str) -> set[int]:
    return {each.size for each in runner.blocks.segments[role]}


def kernel(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1))


def rows(x: jax.Array, y: jax.Array) -> jax.Array:
    return kernel(x, y) @ y


def columns_too(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    made = kernel(x, y)
    return made @ y, made.sum(0)


@pytest.mark.parametrize(("function", "times"), [(rows, 1), (columns_too, 2)])
def test_rows_are_made_twice_where_nothing_else_is_made(function: Any, times: int) -> None:
    """Columns that rows are added to would count them twice."""
    given = arrays(PRIME, PRIME)
    runner = runner_of(function, given)
    assert len(sizes(runner, runner.one.outer)) == times
    assert len(sizes(runner, runner.one.inner)) == 2
    check(function, given)
