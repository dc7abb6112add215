"""What only a GPU can tell: kernels against cuDNN, and against what XLA makes of the same function.

Of each row a ratio: how many times as fast the conducted function is as the other one, or of rates
of work where the other one does other work. Where there is no GPU nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case
from tests.benchmarks.conductor.cases import CASES
from tests.benchmarks.conductor.cases.recurrences import mamba_arguments
from tests.benchmarks.conductor.gpu.attention import (
    LENGTH,
    WINDOW,
    causal,
    in_groups,
    in_window,
    naive,
    of_jax,
    soft_capped,
    with_distances,
)
from tests.benchmarks.conductor.gpu.forward import (
    against_cudnn,
    against_cudnn_heads_last,
    against_naive,
)
from tests.benchmarks.conductor.gpu.measuring import against_plain
from tests.benchmarks.conductor.gpu.row import HEAD, GpuRow
from tests.benchmarks.conductor.gpu.training import (
    gradients_against_cudnn,
    gradients_against_plain,
    step_of_training,
)

__all__ = ["HEAD", "ROWS", "GpuRow", "rows"]


def rows(rounds: int, parts: Sequence[str]) -> Iterator[GpuRow]:
    """Those whose name has one of these parts, one after another; a row that fails says why."""
    for name, asked, measure in ROWS:
        if not any(part in name for part in parts):
            continue
        if jax.default_backend() != "gpu":
            yield GpuRow(name, asked, why="no GPU")
            continue
        try:
            yield measure(name, asked, rounds)
        except Exception as error:  # the other rows are wanted all the same
            yield GpuRow(name, asked, why=f"{type(error).__name__}: {str(error)[:200]}")


def mamba(x: Array, dt: Array, a: Array, b: Array, c: Array) -> Array:
    def step(h: Array, each: tuple[Array, ...]) -> tuple[Array, Array]:
        x, dt, b, c = each
        h = jnp.exp(dt[:, None] * a) * h + dt[:, None] * b[None, :] * x[:, None]
        return h, h @ c

    return jax.lax.scan(step, jnp.zeros(a.shape), (x, dt, b, c))[1]


def against_scan(name: str, asked: float, rounds: int) -> GpuRow:
    return against_plain(mamba, mamba_arguments(4096, 1024, 16), name, asked, rounds)


def of_case(case: Case, name: str, asked: float, rounds: int) -> GpuRow:
    """A case of the other table."""
    function, args = case.make()
    return against_plain(function, jax.tree.map(jnp.asarray, list(args)), name, asked, rounds)


OF_CASES = (
    "causal attention, S = 4096, with gradients",
    "attention without a mask, S = 2048",
    "GPT, 2 layers, training, S = 2048",
    "CLIP loss, n = 8192, d = 64",
    "kernel regression by products, n = 4096, d = 8",
    "cross-entropy, V = 50257, for time",
    "minGRU, T = 2048, d = 256",
    "LRU, T = 4096, d = 128, n = 128",
    "LSTM, T = 300, 2 rows of 48",
    "mLSTM, T = 512, 32 x 32",
)
"""Cases of the other table; of a GPU nothing but that they are not slower is asked."""

ROWS: list[tuple[str, float, Callable[[str, float, int], GpuRow]]] = [
    ("plain causal attention, S = 8192: of cuDNN's", 0.97, partial(against_cudnn, causal, LENGTH)),
    (
        "soft-capped, causal: of cuDNN's causal rate",
        0.8,
        partial(against_cudnn, soft_capped, LENGTH),
    ),
    ("ALiBi, causal: of cuDNN's causal rate", 0.8, partial(against_cudnn, with_distances, LENGTH)),
    ("window of 1024: of cuDNN's causal rate", 0.8, partial(against_cudnn, in_window, WINDOW)),
    ("soft-capped, S = 8192: of plain jax.jit's", 20.0, partial(against_naive, soft_capped)),
    ("ALiBi, S = 8192: of plain jax.jit's", 20.0, partial(against_naive, with_distances)),
    (
        "soft-capped, (b, s, h, d): of cuDNN's causal rate",
        0.8,
        partial(against_cudnn_heads_last, soft_capped),
    ),
    (
        "plain causal attention with gradients, S = 4096: of cuDNN's",
        0.97,
        gradients_against_cudnn,
    ),
    (
        "the same of jax.nn.dot_product_attention: of plain jax.jit's",
        0.97,
        partial(gradients_against_plain, of_jax, False),
    ),
    (
        "the same, four heads share their keys: of plain jax.jit's",
        0.97,
        partial(gradients_against_plain, in_groups, False),
    ),
    (
        "window of 1024 with gradients, S = 4096: of plain jax.jit's",
        0.97,
        partial(gradients_against_plain, partial(naive, in_window), True),
    ),
    (
        "soft-capped with gradients, S = 4096: of plain jax.jit's",
        0.97,
        partial(gradients_against_plain, partial(naive, soft_capped), True),
    ),
    (
        "GPT in bfloat16, 4 layers, training, S = 2048: of plain",
        0.97,
        partial(step_of_training, False),
    ),
    ("the same in a loop, layers computed again: of plain", 0.97, partial(step_of_training, True)),
    ("Mamba as lax.scan, L = 4096, 1024 x 16: of plain jax.jit's", 100.0, against_scan),
    *(
        (f"{case.name}: of plain", 0.97, partial(of_case, case))
        for case in CASES
        if case.name in OF_CASES
    ),
]
"""What it is, the ratio that is asked, and what measures it."""
