"""Whether kernels can be compiled for a GPU, found while planning, so that none fails in a call.

JAX's way to Triton is gone in full, which needs no GPU. Where there is one, XLA compiles the kernel
too, since only then is it known whether its tiles fit into the memory of a multiprocessor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractDevice, AbstractMesh

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.refused import Refused

MOST_WORDS = 160
"""Letters of what a compiler says."""

ROUNDS, CALLS = 4, 8
"""How often a function is timed, of which the fastest counts, and how many calls are under way
then: of a single one most may be the way to the GPU and back."""

KIND = "NVIDIA H200"
"""Whose instructions are meant where no GPU is at hand."""


def refusal(function: Callable[..., Any], avals: Sequence[Any], *, is_interpreted: bool) -> str:
    """Why a function with kernels cannot be compiled; empty if it can."""
    try:
        if is_interpreted:
            _jax.trace(function, avals)
            return ""
        with pallas.without_warnings(), _on_gpu():
            lowered = jax.jit(function).trace(*avals).lower(lowering_platforms=("cuda",))
            if has_gpu():
                lowered.compile()
    except Refused as why:
        return str(why)
    except Exception as error:  # whatever Pallas, Triton or XLA say
        return _words(error)
    return ""


def seconds(function: Callable[..., Any], avals: Sequence[Any]) -> float:
    """Of one of some calls on this machine's device, of arrays of ones. Somebody may be tracing
    outside, so it runs in a thread of its own, in which nobody does."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_seconds, function, avals).result()


def _seconds(function: Callable[..., Any], avals: Sequence[Any]) -> float:
    with pallas.without_warnings():
        arrays = [jnp.ones(aval.shape, aval.dtype) for aval in avals]
        run = jax.jit(function).lower(*arrays).compile()
        taken = []
        wait: Any = jax.block_until_ready
        wait(run(*arrays))
        for _ in range(ROUNDS):
            begun = perf_counter()
            wait([run(*arrays) for _ in range(CALLS)])
            taken.append((perf_counter() - begun) / CALLS)
    return min(taken)


def has_gpu() -> bool:
    return jax.default_backend() == "gpu"


def is_hopper() -> bool:
    """Is JAX's first device an H100, H200, or another of that kind?"""
    return has_gpu() and str(getattr(jax.devices()[0], "compute_capability", "")).startswith("9.")


def _words(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else ""
    return f"{type(error).__name__}: {said[:MOST_WORDS]}"


@contextlib.contextmanager
def _on_gpu() -> Iterator[None]:
    """As if there were a GPU, where there is none."""
    if has_gpu():
        yield
        return
    with on_abstract_gpu():
        yield


@contextlib.contextmanager
def on_abstract_gpu() -> Iterator[None]:
    """Meanwhile programs may be lowered for a GPU that is not there."""
    device: Any = AbstractDevice
    mesh: Any = AbstractMesh
    use: Any = jax.sharding.use_abstract_mesh
    made = device(device_kind=KIND, num_cores=None, platform="gpu")
    with use(mesh((), (), abstract_device=made)):
        yield
