"""Measuring a device's ceilings once, and keeping them on disk for its kind and JAX's version.

Each figure is the best of several runs: what the device can do, not what it did while others used
it. Timings of small programs tell what it costs to start a kernel and a step of a loop.

`calibrate` takes a few seconds, when it is called. `ready` is called before anything is planned:
with ``ORCHESTRATOR_CALIBRATE=on``, where a device's figures are nobody's but assumed, it measures
the few that choices hang on, once for each machine. It does not do so unasked: measured ceilings
alone made worse choices than the assumed figures (docs/measurements.md). What it finds while others
use the machine is not kept; with ``off`` nothing of what was measured is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.cost import current_device, device_store
from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.known_devices import known_device

RUN_S = 0.08
"""Seconds for which a program is run again and again."""

STEPS = 256
"""Of a loop that is timed."""

QUICK_RUN_S = 0.02
STEADY = 1.3
"""By which factor the same product may take longer at the end than at first, or the other way."""


def calibrate(*, again: bool = False) -> Device:
    """JAX's first device as it was measured, now if it never was or is to be measured again. May be
    called while JAX traces: it measures in a thread of its own."""
    device = jax.devices()[0]
    known = None if again else device_store.stored(device.device_kind)
    if known is None:
        with ThreadPoolExecutor(1) as thread:
            known = thread.submit(_measured, device).result()
        device_store.store(known)
        current_device.forget()
    return known


def _measured(device: Any) -> Device:
    before = known_device(device.device_kind, jax.default_backend())
    is_small = before.platform == "cpu"
    started, step = _starting_and_step()
    return dataclasses.replace(
        before,
        dot_rates=tuple(
            (name, _dot_rate(name, 768 if is_small else 4096)) for name, _ in _types(before)
        ),
        loop_rate=_loop_rate(1 << 14 if is_small else 1 << 24),
        call_rate=_call_rate(1 << 14 if is_small else 1 << 24),
        bandwidth=_bandwidth(1 << 24 if is_small else 1 << 27),
        cache_bandwidth=_cache_bandwidth(before.cache_bytes // 4, started + step),
        fresh_rate=_fresh_rate(1 << 24) if is_small else before.fresh_rate,
        kernel_s=started,
        step_s=step,
        origin="measured",
    )


def ready() -> Device:
    """The device that programs are priced for; if that is wanted, measured in a hurry if nobody
    ever has."""
    device = current_device.this_device()
    is_asked = current_device.is_on() and not current_device.is_given()
    if device.origin != "assumed" or not is_asked or _is_tried(device.kind):
        return device
    with contextlib.suppress(Exception), ThreadPoolExecutor(1) as thread:
        found = thread.submit(_in_a_hurry, device).result()
        if found is not None:
            device_store.store(found)
            current_device.forget()
    return current_device.this_device()


def forget() -> None:
    """What this process has measured or tried to; what is on disk stays."""
    _tried().clear()
    current_device.forget()


@functools.cache
def _tried() -> set[str]:
    """Kinds of devices that this process has measured in a hurry."""
    return set()


def _is_tried(kind: str) -> bool:
    """Asked a second time of the same kind?"""
    before = kind in _tried()
    _tried().add(kind)
    return before


def _in_a_hurry(before: Device) -> Device | None:
    """With the figures that choices hang on; None if the machine is busy with something else."""
    is_small = before.platform == "cpu"
    side, size = (512, 1 << 14) if is_small else (4096, 1 << 24)
    first = _dot_rate("float32", side, QUICK_RUN_S)
    loop, call = _loop_rate(size, QUICK_RUN_S), _call_rate(size, QUICK_RUN_S)
    bandwidth = _bandwidth(1 << 22 if is_small else 1 << 27, QUICK_RUN_S)
    last = _dot_rate("float32", side, QUICK_RUN_S)
    if not 1 / STEADY < first / last < STEADY:
        return None
    scale = max(first, last) / before.dot_rate("float32")
    rates = tuple((name, rate * scale) for name, rate in before.dot_rates)
    return dataclasses.replace(
        before,
        dot_rates=rates,
        loop_rate=loop,
        call_rate=call,
        bandwidth=bandwidth,
        origin="measured",
    )


def _types(device: Device) -> list[tuple[str, float]]:
    is_wide = bool(getattr(jax.config, "jax_enable_x64", False))
    return [each for each in device.dot_rates if is_wide or each[0] != "float64"]


def _dot_rate(name: str, side: int, run_s: float | None = None) -> float:
    x = jnp.ones((side, side), name)
    return 2 * side**3 / _best(lambda x: x @ x, x, run_s)


def _bandwidth(size: int, run_s: float | None = None) -> float:
    """Of a loop over an array that no cache holds: read and written in each step."""
    x = jnp.ones(size, "float32")
    return 8 * size * 4 / _best(lambda x: jax.lax.fori_loop(0, 4, lambda _, y: y + 1, x), x, run_s)


def _fresh_rate(size: int) -> float:
    """Of an array that is new in each run."""
    return 4 * size / _best(lambda x: jnp.broadcast_to(x, (size,)), jnp.ones((), "float32"))


def _cache_bandwidth(nbytes: int, overhead: float) -> float:
    """Of a loop whose array stays in the cache: read and written in each step."""
    size = max(1024, nbytes // 8)
    x = jnp.ones(size, "float32")
    step = _best(_looped(lambda x: x * 1.0001 + 0.5), x) / STEPS
    return 8 * size / max(step - overhead, 0.1 * step)


def _loop_rate(size: int, run_s: float | None = None) -> float:
    """A polynomial of degree 32 by Horner's rule."""

    def polynomial(x: Any) -> Any:
        y = x
        for k in range(32):
            y = y * x + k
        return y

    return STEPS * 64 * size / _best(_looped(polynomial), jnp.full(size, 0.3, "float32"), run_s)


def _call_rate(size: int, run_s: float | None = None) -> float:
    x = jnp.ones(size, "float32")
    return STEPS * size / _best(_looped(lambda x: jnp.exp(-x)), x, run_s)


def _starting_and_step() -> tuple[float, float]:
    """From loops with one small product a step, and with nine."""
    x = jnp.eye(8) * 0.5

    def products(count: int) -> Callable[[Any], Any]:
        def body(y: Any) -> Any:
            for _ in range(count):
                y = y @ x
            return y

        return body

    one = _best(_looped(products(1)), x) / STEPS
    nine = _best(_looped(products(9)), x) / STEPS
    starting = max((nine - one) / 8, 1e-9)
    return starting, max(one - starting, 1e-9)


def _looped(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jax.lax.fori_loop(0, STEPS, lambda _, y: body(y), x)


def _best(function: Callable[[Any], Any], x: Any, run_s: float | None = None) -> float:
    """Seconds of the fastest run of those in `run_s` seconds, or else `RUN_S`."""
    compiled = jax.jit(function).lower(x).compile()
    compiled(x).block_until_ready()
    times: list[float] = []
    until = perf_counter() + (RUN_S if run_s is None else run_s)
    while not times or perf_counter() < until:
        start = perf_counter()
        compiled(x).block_until_ready()
        times.append(perf_counter() - start)
    return min(times)
