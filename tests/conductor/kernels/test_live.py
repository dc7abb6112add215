"""Which tiles kernels visit, as far as that is known before they run."""

from __future__ import annotations

import tracemalloc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.kernels import live, program
from orchestrator_core.conductor.kernels.live import Watch
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.plain import plain_of
from orchestrator_core.conductor.tile import blocks
from orchestrator_core.conductor.tile.foretold import counted, gone
from tests.conductor.kernels.interpreting import (
    assert_near,
    for_gpu,
    graph_of,
    in_interpreted_kernels,
    kernels_of,
    run,
)
from tests.conductor.kernels.test_attention import arguments


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "SHAPES", ((16, 16, Launch(4, 1)),))


MASKS: dict[str, Any] = {
    "causal": lambda i, j: i >= j,
    "anticausal": lambda i, j: i <= j,
    "window": lambda i, j: (i >= j) & (i - j < 20),
}


def masked(name: str) -> Any:
    """Attention that is masked by positions."""

    def function(q: Any, k: Any, v: Any) -> Any:
        i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
        s = jnp.where(MASKS[name](i, j), jnp.einsum("hid,hjd->hij", q, k), -jnp.inf)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)

    return function


def kernel_of(function: Any, arrays: list[Any]) -> Any:
    planned, _ = for_gpu(graph_of(function, arrays))
    (node,) = kernels_of(planned)
    (kernel,) = node.params["program"].kernels
    return kernel


def watch_of(function: Any, arrays: list[Any]) -> Watch:
    watch = kernel_of(function, arrays).watch
    assert isinstance(watch, Watch)
    return watch


@pytest.mark.parametrize("name", MASKS)
def test_what_is_masked_by_positions_is_known_while_planning(name: str) -> None:
    """Of 72 x 88 elements in tiles of 16 x 16; those that stick out are visited in any case."""
    found = watch_of(masked(name), arguments()).known
    assert found is not None
    tiles = np.ones((80, 96), bool)
    tiles[:64, :80] = MASKS[name](np.arange(64)[:, None], np.arange(80)[None, :])
    lives = tiles.reshape(5, 16, 6, 16).any((1, 3))
    lives[4], lives[:, 5] = True, True
    first, last = found.bounds
    assert first.tolist() == [row.argmax() for row in lives]
    assert last.tolist() == [6 - row[::-1].argmax() for row in lives]


@pytest.mark.parametrize("name", MASKS)
def test_it_is_the_same_in_strips_of_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(masked(name), arguments())
    found = []
    for at_once in (2**16, 9, 1):
        monkeypatch.setattr(blocks, "AT_ONCE", at_once)
        watch = live.watch_of(kernel.side, kernel.size)
        plain = plain_of(kernel.side, kernel.size, watch)
        assert watch is not None
        assert watch.known is not None
        arrays = [watch.known.bounds, watch.known.needs] + ([] if plain is None else [plain.bounds])
        known = [array.tolist() for array in arrays]
        foretold = gone(kernel.side, kernel.size, counted(kernel.side, kernel.size)).tolist()
        found.append((watch.left_out, watch.leaves, watch.depends, known, foretold))
    assert found[0] == found[1] == found[2]


def test_nothing_is_kept_of_each_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a number, while it is found out which of 256 x 256 tiles matter."""
    rows, number = 256, 8
    array: Any = jax.ShapeDtypeStruct((2, 16 * rows, 24), "float32")
    kernel = kernel_of(masked("causal"), [array] * 3)
    monkeypatch.setattr(blocks, "AT_ONCE", 8 * rows)
    tracemalloc.start()
    watch = live.watch_of(kernel.side, kernel.size)
    assert plain_of(kernel.side, kernel.size, watch) is not None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < number * rows**2


@pytest.mark.parametrize(("name", "is_rising"), [("causal", True), ("anticausal", False)])
def test_the_longest_row_begins_first(name: str, is_rising: bool) -> None:
    arrays = [jnp.zeros((2, 64, 24))] * 3
    assert watch_of(masked(name), arrays).is_last_longest == is_rising


@pytest.mark.parametrize("name", MASKS)
def test_attention_of_whole_tiles(name: str) -> None:
    r = np.random.default_rng(2)
    arrays = [jnp.asarray(r.normal(size=(2, 64, 24)), "float32") for _ in range(3)]
    made, _ = in_interpreted_kernels(graph_of(masked(name), arrays))
    with jax.enable_x64(True):
        exact = masked(name)(*(jnp.asarray(np.asarray(a, "float64")) for a in arrays))
    assert_near(run(made, arrays), [exact], 2e-6)


def test_what_documents_mask_is_found_when_it_runs() -> None:
    def function(q: Any, k: Any, v: Any, of: Any) -> Any:
        s = jnp.where(of[:, None] == of[None], jnp.einsum("hid,hjd->hij", q, k), -1e30)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)

    r = np.random.default_rng(3)
    arrays = [jnp.asarray(r.normal(size=(2, 64, 24)), "float32") for _ in range(3)]
    arrays.append(jnp.asarray(np.repeat(np.arange(4), 16), "int32"))
    assert watch_of(function, arrays).known is None
    made, _ = in_interpreted_kernels(graph_of(function, arrays))
    (node,) = kernels_of(made)
    (kernel,) = node.params["program"].kernels
    known = dict(zip(made.inputs, arrays, strict=True))
    bounds, _ = kernel.watch.arrays(known)
    assert bounds.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert_near(run(made, arrays), [function(*arrays)], 5e-6)


def test_a_window_over_positions_that_are_arrays_is_found_when_it_runs() -> None:
    """Far apart they are masked, near each other they are not."""
    i, j = np.arange(64)[:, None], np.arange(64)[None, :]

    def function(q: Any, k: Any, v: Any) -> Any:
        near = jnp.abs(jnp.asarray(i) - jnp.asarray(j)) < 16
        s = jnp.where(near, jnp.einsum("hid,hjd->hij", q, k), -jnp.inf)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s), v)

    arrays = [jnp.ones((2, 64, 24))] * 3
    watch = watch_of(function, arrays)
    assert watch.known is None
    places = {key[0]: i if key[0].shape == i.shape else j for key in watch.side.recipe.leaves}
    arrays_of = {v: jnp.ones(v.shape) if v.size > 64 else jnp.asarray(places[v]) for v in places}
    bounds, _ = watch.arrays(arrays_of)
    assert bounds.tolist() == [[0, 0, 1, 2], [2, 3, 4, 4]]


def gradients(q: Any, k: Any, v: Any, g: Any) -> Any:
    """Of causal attention."""
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]

    def attention(q: Any, k: Any, v: Any) -> Any:
        s = jnp.einsum("hid,hjd->hij", q, k) / jnp.sqrt(jnp.asarray(24, q.dtype))
        s = jnp.where(i >= j, s.astype(jnp.promote_types(s.dtype, "float32")), -jnp.inf)
        return jnp.einsum("hij,hjd->hid", jax.nn.softmax(s).astype(v.dtype), v)

    return jax.vjp(attention, q, k, v)[1](g)


def test_gradients_in_16_bits_leave_out_what_is_masked() -> None:
    planned, _ = for_gpu(graph_of(gradients, [jnp.ones((2, 64, 24), "bfloat16")] * 4))
    kernels = [each for node in kernels_of(planned) for each in node.params["program"].kernels]
    assert {kernel.side.outer for kernel in kernels} == {"i", "j"}
    assert all(kernel.watch is not None and kernel.watch.part > 0.3 for kernel in kernels)


def test_gradients_of_tiles_that_are_left_out() -> None:
    r = np.random.default_rng(4)
    arrays = [jnp.asarray(r.normal(size=(2, 64, 24)), "float32") for _ in range(4)]
    made, _ = in_interpreted_kernels(graph_of(gradients, arrays))
    with jax.enable_x64(True):
        exact = jax.jit(gradients)(*(jnp.asarray(np.asarray(a, "float64")) for a in arrays))
    assert_near(run(made, arrays), exact, 1e-5)


def test_a_product_that_no_mask_hides_is_not_watched() -> None:
    def function(x: Any, y: Any) -> Any:
        return jnp.sum(jnp.tanh(x @ y), 1)

    arrays = [jnp.ones((64, 64)), jnp.ones((64, 64))]
    planned, _ = for_gpu(graph_of(function, arrays))
    kernels = [each for node in kernels_of(planned) for each in node.params["program"].kernels]
    assert len(kernels) == 1
    assert all(kernel.watch is None for kernel in kernels)
