"""Arrays that are turned are read across their rows, and wait for the cache."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.cost import seconds
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.cost.strided import (
    FIRST,
    FROM_LAST,
    FROM_MEMORY,
    FROM_OTHER_PAGE,
    FROM_SECOND,
    SECOND,
    Reuse,
    reuses,
)
from orchestrator_core.conductor.ir.read import read

CPU = replace(known_device("a test's", "cpu"), cores=2, bandwidth=1e18, cache_bandwidth=1e18)


def waiting(shape: tuple[int, ...], order: tuple[int, ...], device: object = CPU) -> float:
    """Seconds for each element, more than where no axis moves."""

    def priced(function: object) -> float:
        array = jax.ShapeDtypeStruct(shape, "float32")
        return seconds(read(jax.make_jaxpr(function)(array)), device)  # type: ignore[arg-type]

    moved = priced(lambda x: 2 * x.transpose(order)) - priced(lambda x: 2 * x)
    return moved / math.prod(shape)


def test_a_cache_holds_fewer_lines_the_farther_they_are_apart_by_powers_of_two() -> None:
    """An address 4096 bytes on falls into the same set of 64; 4000 bytes on it does not."""
    assert [FIRST.lines(apart) for apart in (64, 128, 1024, 4096, 4000)] == [512, 256, 32, 8, 512]
    assert SECOND.lines(4096) == 8 * 16


@pytest.mark.parametrize(
    ("shape", "order", "expected"),
    [
        ((768, 768), (1, 0), [(15 / 16, 768, 3072)]),
        ((512, 8, 512), (0, 2, 1), [(15 / 16, 8, 2048)]),
        ((2, 768, 768, 2), (2, 0, 3, 1), [(1 / 2, 768, 6144), (7 / 16, 1536, 6144)]),
        ((8, 64, 64), (1, 0, 2), [(15 / 16, 1, 0)]),
    ],
    ids=["a matrix", "short columns", "pairs and groups", "rows as they are"],
)
def test_a_line_is_read_again_after_all_that_lies_between(
    shape: tuple[int, ...], order: tuple[int, ...], expected: list[tuple[float, int, int]]
) -> None:
    found = [each for each in reuses(shape, order, 4) if each.part > 0]
    assert found == [Reuse(*each) for each in expected]


@pytest.mark.parametrize(
    ("side", "each"),
    [
        (64, 0.0),
        (256, FROM_SECOND),
        (500, 0.0),
        (768, FROM_LAST),
        (1024, FROM_OTHER_PAGE),
        (4096, FROM_MEMORY),
    ],
)
def test_turning_a_matrix(side: int, each: float) -> None:
    """Columns of 256 rows, 1 KiB apart, need 256 lines of 32 in the first cache and 512 in the
    second; of 500 rows fit, since 2,000 bytes are no multiple of a line. Two cores share it."""
    assert waiting((side, side), (1, 0)) == pytest.approx(each * 15 / 16 / 2, abs=1e-13)


def test_rows_that_stay_whole_do_not_wait() -> None:
    assert waiting((16, 512, 64), (1, 0, 2)) == pytest.approx(0.0, abs=1e-13)


def test_what_is_the_same_in_each_row_does_not_wait() -> None:
    """It is read where it lies, one element for a whole row."""
    row = jax.ShapeDtypeStruct((1024,), "float32")

    def priced(function: object) -> float:
        return seconds(read(jax.make_jaxpr(function)(row)), CPU)  # type: ignore[arg-type]

    turned = priced(lambda x: jnp.exp(jnp.broadcast_to(x, (1024, 1024)).T))
    assert turned == pytest.approx(
        priced(lambda x: jnp.exp(jnp.broadcast_to(x[:, None], (1024, 1024)))), rel=0.05
    )


def test_one_core_waits_alone() -> None:
    alone = waiting((1024, 1024), (1, 0), replace(CPU, is_alone=True))
    assert alone == pytest.approx(FROM_OTHER_PAGE * 15 / 16, abs=1e-12)


def test_a_gpu_turns_as_it_copies() -> None:
    gpu = known_device("NVIDIA H200", "gpu")
    assert waiting((1024, 1024), (1, 0), gpu) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("shape", [(3, 4, 0), (0, 4, 3), (2, 0, 2)])
def test_an_array_of_no_elements_does_not_wait(shape: tuple[int, ...]) -> None:
    array = jax.ShapeDtypeStruct(shape, "float32")
    turned = read(jax.make_jaxpr(lambda x: 2 * x.transpose(2, 1, 0))(array))
    assert seconds(turned, CPU) == seconds(read(jax.make_jaxpr(lambda x: 2 * x)(array)), CPU)


def test_batches_of_nothing_have_a_price() -> None:
    """XLA turns what it gives to its libraries for them."""
    matrices, images = jnp.zeros((0, 4, 4)), jnp.zeros((0, 3, 5, 5))
    kernels = jnp.zeros((2, 3, 3, 3))
    for function, arrays in [
        (jax.lax.linalg.cholesky, [matrices]),
        (lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME"), [images, kernels]),
    ]:
        graph = read(jax.make_jaxpr(function)(*arrays))  # type: ignore[operator]
        assert math.isfinite(seconds(graph, CPU))
