"""Views along a line are skews where they are said to be, and have the elements they should."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor.facts.lines.diagonals import by_columns, by_diagonals
from orchestrator_core.conductor.facts.lines.moves import given_of, moved
from orchestrator_core.conductor.facts.lines.shift import shift_of
from orchestrator_core.conductor.facts.lines.skew import Skew, Skewed, skewed
from orchestrator_core.conductor.facts.lines.view import View, itself
from orchestrator_core.conductor.ir.read import read

Array = jax.Array


def view_of(function: Callable[[Array], Array], x: Array) -> View | None:
    graph = read(jax.make_jaxpr(function)(x))
    views = {graph.inputs[0]: itself(x.shape)}
    for node in graph.nodes:
        given = given_of(node, graph.producer)
        view = moved(node, views[given], graph.producer) if given in views else None
        if view is not None:
            views[node.output] = view
    (output,) = graph.outputs
    return views.get(output)  # type: ignore[arg-type]


def by_hand(x: np.ndarray, piece: Skew) -> np.ndarray:
    made = np.zeros((piece.rows, piece.columns), x.dtype)
    for i, j in np.ndindex(made.shape):
        row, column = i + piece.down, piece.turn * i + piece.step * j + piece.first
        if 0 <= row < x.shape[0] and 0 <= column < x.shape[1]:
            made[i, j] = x[row, column]
    return made


def assert_is(how: Skewed, function: Callable[[Array], Array], x: Array) -> None:
    given = np.asarray(x if how.rows < how.columns else x.T)
    parts = [by_hand(given, piece) for piece in how.pieces]
    assert all(not (a * b).any() for a, b in itertools.combinations(parts, 2))
    made = sum(parts)
    expected = np.asarray(function(x))
    np.testing.assert_array_equal(made if how.out_rows < how.out_columns else made.T, expected)


def numbers(rows: int, columns: int) -> Array:
    return jnp.arange(1.0, rows * columns + 1).reshape(rows, columns)


def transposed(x: Array, times: int) -> Array:
    for _ in range(times):
        x = x.T
    return x


def padded_left(x: Array) -> Array:
    """Transformer-XL, of as many distances as there are positions: rows run into each other."""
    n, m = x.shape
    return jnp.pad(x, ((0, 0), (1, 0))).reshape(m + 1, n)[1:].reshape(n, m)


def beside_zeros(x: Array) -> Array:
    """The same of all distances."""
    n, m = x.shape
    wide = jnp.concatenate([jnp.zeros((n, 1)), x], 1)
    return wide.reshape(m + 1, n)[1:].reshape(n, m)[:, : m - n + 1]


def unpadded(x: Array) -> Array:
    """XLNet."""
    n, m = x.shape
    return x.reshape(m, n)[1:].reshape(n, m - 1)[:, : m - n]


def padded_twice(x: Array) -> Array:
    """Tensor2Tensor."""
    n, m = x.shape
    flat = jnp.pad(jnp.pad(x, ((0, 0), (0, 1))).reshape(-1), (0, m - n))
    return flat.reshape(n + 1, m)[:n, n - 1 :]


def padded_right(x: Array) -> Array:
    """On the wrong side: another shift, and still one."""
    n, m = x.shape
    return jnp.pad(x, ((0, 0), (0, 1))).reshape(m + 1, n)[1:].reshape(n, m)


def turned(x: Array) -> Array:
    return padded_left(x).T


def backwards(x: Array) -> Array:
    n, m = x.shape
    return jnp.pad(x, ((0, 0), (1, 0))).reshape(m + 1, n)[1:].reshape(n, m)[:, ::-1]


SKEWS = [padded_left, beside_zeros, unpadded, padded_twice, padded_right, turned, backwards]


def shapes(function: Callable[..., Any]) -> list[tuple[int, int]]:
    """Tensor2Tensor's is of all distances and nothing else."""
    if function is padded_twice:
        return [(n, 2 * n - 1) for n in (3, 4)]
    squares = [] if function in (beside_zeros, unpadded) else [(5, 5)]
    return [(3, 5), (4, 8), (6, 17), *squares]


@pytest.mark.parametrize("function", SKEWS)
def test_every_spelling_is_a_skew(function: Callable[..., Any]) -> None:
    for shape in shapes(function):
        x = numbers(*shape)
        view = view_of(function, x)
        how = skewed(view) if view is not None else None
        assert how is not None, shape
        assert_is(how, function, x)


@pytest.mark.parametrize("function", SKEWS)
def test_so_is_its_gradient(function: Callable[..., Any]) -> None:
    for shape in shapes(function):
        x = numbers(*shape)

        def back(y: Array, x: Array = x) -> Array:
            return jax.linear_transpose(function, x)(y)[0]  # type: ignore[no-any-return]

        y = numbers(*function(x).shape)
        view = view_of(back, y)
        how = skewed(view) if view is not None else None
        if how is not None:
            assert_is(how, back, y)
        # The gradient of what was put beside zeros is split, which is made slices before this.
        assert how is not None or function in (backwards, beside_zeros), shape


def test_whatever_is_called_a_skew_is_one() -> None:
    """Random pads, reshapes and slices."""
    random, found = np.random.default_rng(0), 0
    for _ in range(24):
        n, m = map(int, random.integers(3, 8, 2))
        low, high, top = map(int, random.integers(0, 3, 3))
        start, cut = map(int, random.integers(0, 3, 2))
        other = int(random.integers(3, 9))

        def function(x: Array, args: Any = (low, high, top, start, cut, other)) -> Array:
            low, high, top, start, cut, other = args
            y = jnp.pad(x, ((top, 0), (low, high))).reshape(-1)[start:]
            rows = y.size // other
            return y[: rows * other].reshape(rows, other)[: max(rows - cut, 2)]

        x = numbers(n, m)
        if function(x).shape[0] < 2:
            continue
        view = view_of(function, x)
        how = skewed(view) if view is not None else None
        if how is not None:
            assert_is(how, function, x)
            found += 1
    assert found > 1


@pytest.mark.parametrize(("before", "after"), [((0, 3), (0,)), ((0,), (0, 3)), ((2, 0), (0, 5))])
def test_nothing_is_no_view_of_anything(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Axes of no element can be put together and taken apart in any way: there are no blocks."""
    assert view_of(lambda x: x.reshape(after), jnp.zeros(before)) is None


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("step", [1, -1])
def test_diagonals_of_a_tile_and_back(turn: int, step: int) -> None:
    random = np.random.default_rng(0)
    for rows, columns in itertools.product((1, 2, 5), (1, 4, 7)):
        skew = Skew(turn, step, 0, 0, rows, columns, rows + columns - 1, rows)
        wide = random.normal(size=(2, rows, rows + columns - 1))
        i, j = np.indices((rows, columns))
        at = turn * i + step * j - skew.least
        tile = wide[:, i, at]
        made = by_columns(jnp.asarray(wide, "float32"), skew, rows, columns)
        np.testing.assert_array_equal(made, tile.astype("float32"))
        back = np.zeros_like(wide)
        back[:, i, at] = tile
        made = by_diagonals(jnp.asarray(tile, "float32"), skew)
        np.testing.assert_array_equal(made, back.astype("float32"))


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x: jnp.pad(x[:, :-1], ((0, 0), (1, 0))), (1, 1, 0)),
        (lambda x: jnp.pad(x, ((0, 1), (0, 0)), constant_values=-jnp.inf)[1:], (0, -1, -np.inf)),
        (lambda x: jnp.concatenate([jnp.ones((3, 1)), x], 1)[:, :-1], (1, 1, 1)),
        (lambda x: jnp.pad(jnp.split(x, [1])[1], ((0, 1), (0, 0))), (0, -1, 0)),
        (lambda x: lax.pad(jnp.pad(x, 1), 0.0, ((0, -2, 0), (-1, -1, 0))), (0, 1, 0)),
        (lambda x: jnp.pad(x[1:], ((2, 0), (0, 0))), None),
        (lambda x: jnp.pad(x[1:], ((1, 0), (0, 0))), None),
        (lambda x: jnp.pad(x[:-1, :-1], ((1, 0), (1, 0))), None),
        (lambda x: jnp.pad(x.T[:, :-1], ((0, 0), (1, 0))).T[:, ::-1], None),
        (lambda x: jnp.concatenate([x[:, :1], x[:, :-1]], 1), None),
        (lambda x: transposed(jnp.pad(x[1:], ((0, 1), (0, 0))), 4), (0, -1, 0)),
        (lambda x: transposed(jnp.pad(x[1:], ((0, 1), (0, 0))), 40), None),
        (lambda x: jnp.ravel(x[:0]), None),
        (lambda x: x[:1][1:].T.reshape(0, 5, 1), None),
    ],
)
def test_what_is_moved_on_by_one(
    function: Callable[[Array], Array], found: tuple[int, int, float] | None
) -> None:
    """Along which axis, by how much, and what is in the free place. Of arrays without elements, as
    of the halves of a scan that has none left, nothing is said; nor of what takes dozens of
    operations, as each value of a long chain would be followed to its beginning."""
    graph = read(jax.make_jaxpr(function)(numbers(3, 5)))
    shift = shift_of(graph.outputs[0], graph.producer)
    assert (None if shift is None else (shift.axis, shift.by, float(shift.number))) == found
    assert shift is None or shift.given is graph.inputs[0]
