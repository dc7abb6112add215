"""What a CPU's library takes beside its operations: calls row by row, cores that meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.cost.fusion import groups
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.cost.library_rows import ROW, beside_s
from orchestrator_core.conductor.cost.meeting import SUM_S, as_product_s, meeting_s
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read

CPU = replace(known_device("a test's", "cpu"), loop_rate=40e9, spread_s=5e-6, fresh_rate=1e9)
ROW_S = ROW / CPU.loop_rate
N, D = 100, 3


def graph_of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Graph:
    args = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return read(jax.make_jaxpr(lambda *a: [function(*a)])(*args))


def beside(function: Callable[..., Any], *shapes: tuple[int, ...]) -> float:
    return sum(beside_s(each, CPU) for each in groups(graph_of(function, *shapes), "cpu"))


ROWS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], int]] = {
    "differences, and their sum": (
        lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1),
        [(N, D), (N, D)],
        2 * N * N,
    ),
    "weighted ones, too": (
        lambda w, x, y: (w[:, :, None] * (x[:, None] - y[None])).sum(-1),
        [(N, N), (N, D), (N, D)],
        3 * N * N,
    ),
    "summed over points": (
        lambda w, x, y: (w[:, :, None] * (x[:, None] - y[None])).sum(0),
        [(N, N), (N, D), (N, D)],
        3 * N * N,
    ),
    "coordinates, added up for each point": (lambda x: (x * 2).sum(1), [(N, N, D)], N * N),
    "features, added up for each point": (lambda x: (x * 2).sum(1), [(N, N, 16)], 0),
    "combined with what is whole": (
        lambda v, x, y: ((x[:, None] - y[None]) * v).sum(-1),
        [(N, N, D), (N, D), (N, D)],
        3 * N * N,
    ),
    "rows of an array": (lambda x: x.sum(-1), [(N, N, D)], N * N),
    "rows that are long": (lambda u, v: (u[:, None] - v[None]).sum(-1), [(N,), (N,)], 2 * N),
    "a product in other words": (
        lambda w, x: (w[:, :, None] * x[:, None]).sum(0),
        [(N, N), (N, D)],
        0,
    ),
    "one row": (lambda x: (x * 2).sum(), [(N, N, D)], 0),
    "not the library's": (lambda x, y: x[:, None] - y[None], [(N, D), (N, D)], 0),
}


@pytest.mark.parametrize("name", ROWS)
def test_calls_are_counted_by_rows(name: str) -> None:
    function, shapes, rows = ROWS[name]
    assert beside(function, *shapes) == pytest.approx(rows * ROW_S)


def test_what_is_made_by_rows_and_summed_otherwise_is_kept() -> None:
    n, d = 1000, 16
    seconds = beside(
        lambda w, x, y: (w[:, :, None] * (x[:, None] - y[None])).sum(0), (n, n), (n, d), (n, d)
    )
    kept = n * n * d * 4 / CPU.fresh_rate
    assert seconds == pytest.approx(2 * n * n * ROW_S + kept)


def the_sum(function: Callable[[Any], Any], *shape: int) -> Node:
    nodes = graph_of(function, shape).nodes
    return next(node for node in nodes if node.name.startswith("reduce"))


def test_cores_meet_in_sums_of_many_results_over_first_axes() -> None:
    wide = the_sum(lambda x: x.sum(0), 4, 50_000)
    assert meeting_s(wide, CPU) == pytest.approx(SUM_S * 4 * 50_000 * 4)
    two = the_sum(lambda x: x.sum(0), 4, 30_000)
    assert meeting_s(two, CPU) == pytest.approx(SUM_S * 4 * 30_000 * 4 / 2)
    assert meeting_s(the_sum(lambda x: x.max(0), 4, 50_000), CPU) < meeting_s(wide, CPU)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x.sum(0), (50_000, 4)),
        (lambda x: x.sum(1), (4, 50_000)),
        (lambda x: x.sum(1), (2, 4, 50_000)),
        (lambda x: x.sum(0), (4, 16_384)),
        (lambda x: x.sum(), (4, 50_000)),
    ],
)
def test_in_others_they_do_not(function: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    assert meeting_s(the_sum(function, *shape), CPU) == 0.0


def test_a_product_that_has_to_store_what_it_sums_takes_longer() -> None:
    node = the_sum(lambda x: jnp.exp(x).sum(0), 4, 2_000_000)
    there, stored = (as_product_s(node, CPU, is_stored=is_there) for is_there in (True, False))
    assert there < stored < meeting_s(node, CPU)
