"""Whether kernels can be compiled for a GPU, found while planning, so that none fails in a call.

JAX's way to Triton is gone in full, which needs no GPU. Where there is one, XLA compiles the kernel
too, since only then is it known whether its tiles fit into the memory of a multiprocessor.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
from jax.sharding import AbstractDevice, AbstractMesh

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.measured.timing import (
    REPEATS,
    Candidate,
    has_gpu,
    repeated,
    timed,
)
from orchestrator_core.conductor.refused import Refused

MOST_WORDS = 160
"""Letters of what a compiler says."""

KIND = "NVIDIA H200"
"""Whose instructions are meant where no GPU is at hand."""


def refusal(function: Callable[..., Any], avals: Sequence[Any], *, is_interpreted: bool) -> str:
    """Why a function with kernels cannot be compiled; empty if it can."""
    if is_interpreted:
        return _tried(lambda: _jax.trace(function, avals))[1]
    lowered, why = _tried(lambda: _for_gpu(function, avals))
    return _tried(lowered.compile)[1] if has_gpu() and not why else why


def raced(candidates: Sequence[Candidate]) -> list[tuple[str, float]]:
    """Of each why it cannot be compiled for a GPU, empty if it can, and seconds within a program;
    those are zero where no two can be compared. They are compiled side by side."""
    made = [
        _tried(functools.partial(_for_gpu, repeated(function, avals), avals))
        for function, avals in candidates
    ]
    if not has_gpu():
        return [(why, 0.0) for _, why in made]
    with ThreadPoolExecutor(len(made)) as threads:
        made = list(threads.map(lambda each: _tried(each[0].compile) if each[0] else each, made))
        alone = sum(not why for _, why in made) < 2
        found = []
        for (run, why), (_, avals) in zip(made, candidates, strict=True):
            is_run = not why and not alone
            taken = threads.submit(timed, run, avals).result() if is_run else 0.0
            found.append((why, taken / REPEATS))
    return found


def _for_gpu(function: Callable[..., Any], avals: Sequence[Any]) -> Any:
    with pallas.without_warnings(), _on_gpu():
        return jax.jit(function).trace(*avals).lower(lowering_platforms=("cuda",))


def _tried(make: Callable[[], Any]) -> tuple[Any, str]:
    """What is made, or why it is not."""
    try:
        return make(), ""
    except Refused as why:
        return None, str(why)
    except Exception as error:  # whatever Pallas, Triton or XLA say
        return None, _words(error)


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
