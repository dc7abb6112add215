"""Prices order programs as a device would."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from orchestrator_core.conductor.cost import Device, Work, on_device, price, this_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.cost.roofline import seconds_of_work
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.site import Price

CPU = Device(
    kind="a test's",
    platform="cpu",
    dot_rates=(("float32", 80e9), ("bfloat16", 40e9)),
    loop_rate=30e9,
    call_rate=2e9,
    bandwidth=10e9,
    cache_bandwidth=100e9,
    cache_bytes=2_000_000,
    kernel_s=4e-7,
    step_s=1e-7,
    half_side=8.0,
    fresh_rate=1e9,
)
H200 = known_device("NVIDIA H200", "gpu")


def priced(function: Any, *shapes: tuple[int, ...], device: Device = CPU) -> Price:
    args = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return price(read(jax.make_jaxpr(function)(*args)), device)


def product(x: Any, y: Any) -> Any:
    return x @ y


def causal(q: Any, k: Any, v: Any, first: Any = 0) -> Any:
    rows = first + jnp.arange(q.shape[0])
    scores = jnp.where(rows[:, None] >= jnp.arange(k.shape[0]), q @ k.T, -1e9)
    return jax.nn.softmax(scores) @ v


def in_chunks(size: int) -> Any:
    def function(q: Any, k: Any, v: Any) -> Any:
        parts = q.reshape(-1, size, q.shape[1])
        starts = jnp.arange(parts.shape[0]) * size
        return lax.map(lambda part: causal(part[0], k, v, part[1]), (parts, starts))

    return function


@pytest.mark.parametrize("device", [CPU, H200], ids=["cpu", "h200"])
def test_products_of_the_same_work_are_faster_the_squarer_they_are(device: Device) -> None:
    square = priced(product, (512, 512), (512, 512), device=device)
    flat = priced(product, (65536, 8), (8, 256), device=device)
    thin = priced(product, (4, 65536), (65536, 512), device=device)
    assert square.seconds < flat.seconds
    assert square.seconds < thin.seconds


@pytest.mark.parametrize("device", [CPU, H200], ids=["cpu", "h200"])
def test_twice_the_work_of_a_large_product_takes_about_twice_as_long(device: Device) -> None:
    one = priced(product, (2048, 2048), (2048, 2048), device=device)
    two = priced(product, (4096, 2048), (2048, 2048), device=device)
    assert two.seconds / one.seconds == pytest.approx(2, rel=0.15)


def test_rows_in_chunks_are_faster_and_smaller_than_all_scores_at_once_on_a_cpu() -> None:
    shapes = [(4096, 64)] * 3
    naive, chunked = priced(causal, *shapes), priced(in_chunks(256), *shapes)
    assert chunked.seconds < naive.seconds
    assert 4 * chunked.temp_bytes < naive.temp_bytes


def test_small_scores_are_not_worth_chunks() -> None:
    shapes = [(128, 16)] * 3
    assert priced(causal, *shapes).seconds < priced(in_chunks(16), *shapes).seconds


def test_a_loop_is_faster_than_a_parallel_scan_on_a_cpu_and_slower_on_a_gpu() -> None:
    def looped(a: Any, b: Any) -> Any:
        def body(h: Any, ab: Any) -> Any:
            h = ab[0] * h + ab[1]
            return h, h

        return lax.scan(body, jnp.zeros(a.shape[1]), (a, b))[1]

    def parallel(a: Any, b: Any) -> Any:
        return lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]

    shapes = [(4096, 1024)] * 2
    assert priced(looped, *shapes).seconds < priced(parallel, *shapes).seconds
    assert (
        priced(parallel, *shapes, device=H200).seconds
        < priced(looped, *shapes, device=H200).seconds
    )


def convolved(x: Any, w: Any) -> Any:
    """In as many groups as the weights leave."""
    numbers, groups = ("NHWC", "HWIO", "NHWC"), x.shape[-1] // w.shape[2]
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=numbers, feature_group_count=groups
    )


def test_a_depthwise_convolution_is_no_faster_than_a_whole_one_on_a_cpu() -> None:
    """Measured, two cores: 2.9 ns for each pair of numbers that meet, and 0.02 ns of a whole one,
    which has 64 times as many; 11 ns of a derivative by weights in groups of eight features."""
    x, whole, deep, eight = (8, 32, 32, 64), (3, 3, 64, 64), (3, 3, 1, 64), (3, 3, 8, 64)
    assert priced(convolved, x, deep).seconds > priced(convolved, x, whole).seconds
    on_gpu = [priced(convolved, x, each, device=H200).seconds for each in (deep, whole)]
    assert on_gpu[0] < on_gpu[1]

    def by_weights(x: Any, w: Any, y: Any) -> Any:
        return jax.vjp(lambda w: convolved(x, w), w)[1](y)

    assert priced(by_weights, x, eight, x).seconds > 20 * priced(by_weights, x, deep, x).seconds


def test_windows_are_slower_than_sums_of_as_many_numbers_and_their_derivatives_more_so() -> None:
    """Measured, two cores: 0.3 ns for each number in a window of three by three, and 5 ns of the
    derivative of its largest one."""

    def largest(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

    def derivative(x: Any, y: Any) -> Any:
        return jax.vjp(largest, x)[1](y)

    x, y, as_many = (8, 32, 32, 64), (8, 16, 16, 64), (9, 8 * 16 * 16, 64)
    once = priced(largest, x).seconds
    assert once > 2 * priced(lambda x: x.max(0), as_many).seconds
    assert priced(derivative, x, y).seconds > 8 * once


def test_a_sum_of_many_numbers_keeps_all_of_a_gpu_busy() -> None:
    """Though it makes only one: it is no slower than the sums of each of many rows."""
    whole = priced(lambda x: x.sum(), (4096, 2048), device=H200).seconds
    rows = priced(lambda x: x.sum(1), (4096, 2048), device=H200).seconds
    assert whole == pytest.approx(rows, rel=0.01)
    assert whole < 2 * 4 * 4096 * 2048 / H200.bandwidth


def test_angles_of_all_heads_take_as_long_as_they_are_many() -> None:
    """XLA makes the same table of angles anew for each head; that takes longer than all else."""

    def turned(x: Any, angles: Any) -> Any:
        return x * jnp.cos(angles) + 1

    def scaled(x: Any, scales: Any) -> Any:
        return x * (2 * scales) + 1

    one, many = ([(heads, 64, 32), (64, 32)] for heads in (1, 64))
    assert priced(turned, *many).seconds > 3 * priced(scaled, *many).seconds
    assert priced(turned, *many).seconds > 10 * priced(turned, *one).seconds


def test_what_is_returned_takes_memory_that_the_system_hands_out_page_by_page() -> None:
    """Measured, two cores: 3 ms of 28 MB, 45 of 36: the C library keeps no pieces of more than 32.
    What is returned as it was given is nothing new."""
    small, large = (priced(jnp.sin, (size * 10**6 // 4,)).seconds for size in (30, 40))
    assert large - small > 40e6 / CPU.fresh_rate
    shape = (10**7,)
    both = priced(lambda x: (x, x.sum()), shape).seconds
    assert both == pytest.approx(priced(lambda x: x.sum(), shape).seconds)


def test_work_is_bound_by_computing_or_by_moving() -> None:
    assert seconds_of_work(Work(dot_flops=80e9, flops=80e9), CPU) == pytest.approx(1, rel=1e-3)
    assert seconds_of_work(Work(nbytes=10e9), CPU) == pytest.approx(1, rel=1e-3)
    assert seconds_of_work(Work(kernels=1e6), CPU) == pytest.approx(0.4, rel=1e-3)
    assert seconds_of_work(Work(dot_flops=80e9, flops=80e9), CPU, "bfloat16") > 1.9


def test_a_program_is_priced_by_what_it_says() -> None:
    graph = read(jax.make_jaxpr(jnp.sin)(jnp.ones(4)))
    (node,) = graph.nodes
    work = Work(nbytes=10e9, temp_bytes=10**8)
    program = Node("tiles", node.inputs, node.outputs, node.apply, {"work": work})
    found = price(graph.with_nodes([program]), CPU)
    assert found.seconds == pytest.approx(1 + 0.1, rel=1e-3), "to move, and to have"
    assert found.temp_bytes == 10**8


def test_the_device_can_be_said() -> None:
    other = dataclasses.replace(CPU, kind="another")
    with on_device(other):
        assert this_device() is other
    assert this_device() is not other


def test_passes_over_an_array_cost_what_its_size_lets_stay_in_the_last_cache() -> None:
    device = dataclasses.replace(CPU, fresh_rate=math.inf)

    def passes(x: Any) -> Any:
        return (x - x.max(0)).min(0)

    small, large = (priced(passes, (n, 512), device=device).seconds for n in (2**12, 2**16))
    assert large > 2**5 * small, "sixteen times as much to do"


def affine(a: Any, b: Any) -> Any:
    def step(h: Any, now: Any) -> Any:
        h = now[0] * h + now[1]
        return h, h

    return lax.scan(step, jnp.zeros(a.shape[1:]), (a, b))[1]


def test_a_loop_of_few_bytes_is_one_function_on_a_cpu() -> None:
    """Measured: 0.02 us a step of 8 numbers, 0.09 of 64. A GPU starts a kernel for each."""
    few, more = [(1024, 8)] * 2, [(1024, 64)] * 2
    assert priced(affine, *more).seconds > 4 * priced(affine, *few).seconds
    on_gpu = [priced(affine, *each, device=H200).seconds for each in (few, more)]
    assert on_gpu[1] == pytest.approx(on_gpu[0], rel=0.1)


def test_what_is_the_same_in_all_steps_is_priced_once() -> None:
    """XLA computes it before the loop, unless it is larger than what it is made of."""

    def inside(w: Any, h: Any) -> Any:
        return lax.scan(lambda h, _: (jnp.tanh(w) @ h, None), h, length=1000)[0]

    def before(w: Any, h: Any) -> Any:
        w = jnp.tanh(w)
        return lax.scan(lambda h, _: (w @ h, None), h, length=1000)[0]

    def anew(w: Any, h: Any) -> Any:
        return lax.scan(lambda h, _: (jnp.tanh(w * h) @ h, None), h, length=1000)[0]

    once, outside, always = (
        priced(each, (256, 256), (256,)).seconds for each in (inside, before, anew)
    )
    assert once == pytest.approx(outside, rel=0.02)
    assert always > 3 * once


def test_a_matrix_meets_one_vector_faster_than_two_on_a_cpu() -> None:
    """XLA's own loop: 28e9 flops a second, where the library's of two columns has 10e9."""
    one, two = (priced(product, (256, 256), (256, n)).seconds for n in (1, 2))
    assert one == pytest.approx(2 * 256**2 / 28e9, rel=0.15)
    assert two > 3 * one


def test_thin_products_make_nothing_else_in_their_kernel_dear() -> None:
    """Attention of 2,048 rows is one kernel; exponentials are as dear with 4 features as with 64.
    Measured: 5.2 ms for four heads of 1,024 with 4 features, 10.6 were priced."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ k.T) @ v

    thin, wide = (priced(attention, *[(2048, n)] * 3).seconds for n in (4, 64))
    products = [4 * 2048**2 * n / 80e9 * (n + 8) / n for n in (4, 64)]
    assert wide - thin == pytest.approx(products[1] - products[0], rel=0.05)


def test_complex_products_take_four_times_as_long_as_complex_sums() -> None:
    """Where nothing is moved: a chain of 64. Measured: 0.18 and 0.047 ns."""

    def chained(operation: Any) -> float:
        def function(x: Any, y: Any) -> Any:
            for _ in range(64):
                x = operation(x, y)
            return x

        given = [jax.ShapeDtypeStruct((4096,), "complex64")] * 2
        return price(read(jax.make_jaxpr(function)(*given)), known_device("cpu", "cpu")).seconds

    assert chained(jnp.multiply) == pytest.approx(4 * chained(jnp.add), rel=0.15)


def test_what_makes_nothing_costs_something() -> None:
    def told(x: Any) -> Any:
        jax.debug.print("{}", x)
        return 2 * x

    assert priced(told, (8,)).seconds > priced(lambda x: 2 * x, (8,)).seconds


def test_derivatives_of_whole_numbers_have_a_price() -> None:
    """They are of a type without bytes."""

    def both(x: Any) -> Any:
        return jax.jvp(lambda x: (jnp.argsort(x), 2 * x), (x,), (x,))

    assert 0 < price(read(jax.make_jaxpr(both)(jnp.ones(64)))).seconds < 1e-3
