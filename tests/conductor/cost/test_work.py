"""What single nodes do, counted by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor.cost import Work, totals, work_of, work_of_node
from orchestrator_core.conductor.cost.fusion import groups
from orchestrator_core.conductor.cost.rules import RULES
from orchestrator_core.conductor.cost.rules.contractions import Slide
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read


def graph_of(function: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> Graph:
    return read(jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct(s, dtype) for s in shapes]))


def only_node(function: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> Node:
    (node,) = graph_of(function, *shapes, dtype=dtype).nodes
    return node


CASES = [
    (lambda x, y: x + y, [(3, 4), (3, 4)], Work(12, 0, 144, kernels=1)),
    (jnp.exp, [(5,)], Work(0, 5, 40, kernels=1)),
    (lambda x: lax.integer_pow(x, 5), [(10,)], Work(30, 0, 80, kernels=1)),
    (lambda x: lax.integer_pow(x, -1), [(10,)], Work(10, 0, 80, kernels=1)),
    (lambda x: lax.reshape(x, (6,)), [(2, 3)], Work()),
    (lambda x: x[2:4], [(100, 3)], Work(nbytes=48, kernels=1)),
    (lambda x: lax.reduce_sum_p.bind(x, axes=(1,), out_sharding=None), [(4, 5)], Work(16, 0, 96)),
    (
        lambda x, y: lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))),
        [(2, 3, 4), (2, 4, 5)],
        Work(240, 0, 376, dot_flops=240, kernels=1),
    ),
]


@pytest.mark.parametrize(("function", "shapes", "expected"), CASES)
def test_the_work_of_a_node(function: Any, shapes: Any, expected: Work) -> None:
    work = work_of_node(only_node(function, *shapes), "cpu")
    assert (work.flops, work.transcendentals) == (expected.flops, expected.transcendentals)
    assert (work.nbytes, work.dot_flops) == (expected.nbytes, expected.dot_flops)


def test_a_convolution_does_not_count_its_padding() -> None:
    """5 inputs, a window of 3, padding of 1 on both sides: 13 pairs; with strides of two 8."""

    def convolved(stride: int) -> Any:
        return lambda x, w: lax.conv_general_dilated(x, w, (stride,), "SAME")

    shapes = [(2, 3, 5), (4, 3, 3)]
    assert work_of_node(only_node(convolved(1), *shapes), "cpu").flops == 2 * 2 * 4 * 3 * 13
    assert work_of_node(only_node(convolved(2), *shapes), "cpu").flops == 2 * 2 * 4 * 3 * 7


def test_a_grouped_convolution_meets_only_its_group() -> None:
    def grouped(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=2)

    assert work_of_node(only_node(grouped, (1, 4, 5), (6, 2, 3)), "cpu").flops == 2 * 6 * 2 * 9


def test_loops_multiply_and_branches_are_the_larger_one() -> None:
    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, length=7)[0]

    def counted(x: Any) -> Any:
        return lax.while_loop(lambda s: s[1] < 9, lambda s: (jnp.sin(s[0]), s[1] + 1), (x, 2))[0]

    def branched(x: Any) -> Any:
        return lax.cond(x[0] > 0, jnp.sin, lambda x: jnp.sin(jnp.sin(x)), x)

    assert work_of(graph_of(scanned, (10,)), "cpu").transcendentals == 70
    assert work_of(graph_of(counted, (10,)), "cpu").transcendentals == 70
    assert work_of(graph_of(branched, (10,)), "cpu").transcendentals == 20


def test_a_loop_of_unknown_length_counts_once() -> None:
    def function(x: Any) -> Any:
        return lax.while_loop(lambda x: x[0] > 0, jnp.sin, x)

    assert work_of(graph_of(function, (10,)), "cpu").transcendentals == 10


def test_a_program_says_itself_what_it_does() -> None:
    node = only_node(jnp.sin, (4,))
    program = Node("tiles", node.inputs, node.outputs, node.apply, {"work": Work(123, kernels=5)})
    assert work_of_node(program, "cpu") == Work(123, kernels=5)


def test_a_closed_call_does_what_is_in_it() -> None:
    inner = jax.jit(lambda x: jnp.sin(x) + 1, donate_argnums=0)
    work = work_of(graph_of(lambda x: inner(x * 2), (10,)), "cpu")
    assert (work.flops, work.transcendentals) == (20, 10)


def test_a_primitive_without_a_rule_counts_once_for_each_element() -> None:
    node = only_node(jnp.sin, (4,))
    unknown = Node("nobody_has_heard_of_it", node.inputs, node.outputs, node.apply)
    assert unknown.name not in RULES
    assert work_of_node(unknown, "cpu") == Work(flops=4, nbytes=32, kernels=1)


@pytest.mark.parametrize(
    "shape", [(1024, 16), (512, 128), (2, 8192), (9, 17), (64, 100), (64, 1000)]
)
@pytest.mark.parametrize("name", ["cumsum", "cumlogsumexp"])
def test_running_operations_are_windows_of_windows(name: str, shape: tuple[int, int]) -> None:
    """As XLA counts them."""

    def function(x: Any) -> Any:
        return getattr(lax, name)(x, 1)

    compiled = jax.jit(function).lower(jax.ShapeDtypeStruct(shape, "float32")).compile()
    work, said = work_of_node(only_node(function, shape), "cpu"), compiled.cost_analysis()
    assert work.flops == pytest.approx(said["flops"], rel=0.1)
    assert work.transcendentals == pytest.approx(said.get("transcendentals", 0), rel=0.1)
    assert work.nbytes == pytest.approx(said["bytes accessed"], rel=0.1)
    used = compiled.memory_analysis().temp_size_in_bytes
    assert work.temp_bytes == pytest.approx(used, rel=0.15, abs=64)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_cpu_finds_the_largest_real_number_one_by_one(axis: int) -> None:
    """2 to 3 ns for each, 3.5 in 16 bits; of whole numbers half a nanosecond (decision 0096)."""

    def calls(dtype: str) -> float:
        node = only_node(lambda x: lax.argmax(x, axis, np.int32), (64, 64), dtype=dtype)
        return work_of_node(node, "cpu").calls / (64 * 63)

    assert calls("float32") == calls("float64") == 4.6
    assert calls("bfloat16") == 7.0
    assert calls("int32") == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_meetings_of_a_sliding_window_are_those_that_are_counted_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(500):
        stride, hole, count, size = map(int, random.integers(1, 9, 4))
        start = int(random.integers(-20, 21))
        places = range(-start, count * stride - start, stride)
        filled = range(0, size * hole, hole)
        counted = sum(place in filled for place in places)
        assert Slide(stride, hole, count).meetings(start, size) == counted


def test_a_long_convolution_is_counted_at_once() -> None:
    """Of 10^6 numbers and 10^5 others; each of these meets all that it is moved over."""
    node = next(
        each
        for _, each in graph_of(jnp.convolve, (10**6,), (10**5,)).walk()
        if each.name == "conv_general_dilated"
    )
    assert work_of_node(node, "cpu").flops == 2 * 10**6 * 10**5


def test_nothing_is_combined_of_nothing() -> None:
    node = only_node(lambda x: lax.reduce_sum_p.bind(x, axes=(1,), out_sharding=None), (5, 0))
    assert work_of_node(node, "cpu").flops == 0


def test_nothing_meets_nothing() -> None:
    def convolved(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1,), [(2, 2)])

    assert work_of_node(only_node(convolved, (1, 1, 0), (1, 1, 3)), "cpu").flops == 0


def test_what_a_node_does_is_asked_once_however_many_kernels_do_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 30 norms, each kernel computes again what those of all norms before it did: 4,740 nodes in
    all kernels of a graph of 300."""

    def norms(x: Any) -> Any:
        for _ in range(30):
            x = x - x.mean(-1, keepdims=True)
            x = x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True))
        return x

    asked: list[Node] = []
    found = totals.work_of_node

    def counted(node: Node, platform: str | None = None) -> Work:
        asked.append(node)
        return found(node, platform)

    monkeypatch.setattr(totals, "work_of_node", counted)
    graph = read(jax.make_jaxpr(norms)(jnp.ones((64, 512))))
    work_of(graph, "cpu")
    assert sum(len(group.nodes) for group in groups(graph, "cpu")) > 5 * len(graph.nodes)
    assert len(asked) == len(set(asked))
