"""What only a GPU can tell: kernels against cuDNN, and against what XLA makes of the same function.

Of each row a ratio: how many times as fast the conducted function is as the other one, or of rates
of work where the other one does other work. Where there is no GPU nothing is measured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from orchestrator_core.conductor import conduct
from tests.benchmarks.conductor.case import Case
from tests.benchmarks.conductor.cases import CASES
from tests.benchmarks.conductor.cases.recurrences import mamba_arguments
from tests.benchmarks.conductor.cases.transformers import train_step

HEADS, LENGTH, D = 16, 8192, 128

CALLS = 10
"""Of which each round takes the mean."""

HEAD = (
    f"{'on a GPU':<62} {'ratio':>8} {'asked':>6} {'error':>9} {'ours':>11} {'rate':>12}"
    f" {'memory':>7} {'planned':>8}"
)

Function = Callable[..., Array]


@dataclass(frozen=True)
class GpuRow:
    """Attributes:
    ratio: None where it was not measured. asked: of the ratio. error: relative to the largest.
    ours, other: seconds. tera_flops: a second, of products of what no mask leaves out.
    memory: how many times as much temporary memory the other one takes, where both are the same
        function. planned: seconds until ours is compiled.
    """

    name: str
    asked: float
    ratio: float | None = None
    error: float | None = None
    ours: float | None = None
    other: float | None = None
    tera_flops: float | None = None
    memory: float | None = None
    planned: float | None = None
    why: str = ""

    def line(self) -> str:
        if self.ratio is None or self.ours is None or self.error is None:
            return f"{self.name:<62} {'not measured':>15} {self.asked:>6g}  {self.why}"
        rate = "" if self.tera_flops is None else f"{self.tera_flops:.0f} TFLOP/s"
        ours = f"{self.ours * 1e3:.3f} ms"
        memory = "" if self.memory is None else f"{self.memory:.1f}"
        planned = "" if self.planned is None else f"{self.planned:.1f} s"
        return (
            f"{self.name:<62} {self.ratio:>8.2f} {self.asked:>6g} {self.error:>9.1e}"
            f" {ours:>11} {rate:>12} {memory:>7} {planned:>8}"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


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


def drawn(*shape: int, seed: int = 0, dtype: str = "bfloat16") -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def queries_keys_values() -> list[Array]:
    return [drawn(1, HEADS, LENGTH, D, seed=k) for k in range(3)]


def naive(scores: Callable[[Array, Array, Array], Array], q: Array, k: Array, v: Array) -> Array:
    """(b, h, s, d) attention, everything written out."""
    s = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))
    i, j = jnp.arange(q.shape[2])[:, None], jnp.arange(k.shape[2])[None, :]
    s = scores(s.astype(jnp.float32), i, j)
    return jnp.einsum("bhij,bhjd->bhid", jax.nn.softmax(s, axis=-1).astype(v.dtype), v)


def causal(s: Array, i: Array, j: Array) -> Array:
    return jnp.where(i >= j, s, -jnp.inf)


def soft_capped(s: Array, i: Array, j: Array) -> Array:
    return jnp.where(i >= j, 30 * jnp.tanh(s / 30), -jnp.inf)


def with_distances(s: Array, i: Array, j: Array) -> Array:
    """ALiBi: Press and others, 2022."""
    slopes = 2.0 ** (-8.0 * (jnp.arange(s.shape[1], dtype=jnp.float32) + 1) / HEADS)
    return jnp.where(i >= j, s - slopes[None, :, None, None] * (i - j), -jnp.inf)


WINDOW = 1024


def in_window(s: Array, i: Array, j: Array) -> Array:
    return jnp.where((i >= j) & (i - j < WINDOW), s, -jnp.inf)


def cudnn(q: Array, k: Array, v: Array) -> Array:
    """Causal, (b, s, h, d)."""
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")


def pairs(window: int) -> float:
    """Of queries and keys that a causal mask, or a window, leaves."""
    short = min(window, LENGTH)
    return short * (short + 1) / 2 + (LENGTH - short) * short


def against_cudnn(scores: Any, window: int, name: str, asked: float, rounds: int) -> GpuRow:
    """Rates of work, since cuDNN's is that of a causal mask."""
    q, k, v = queries_keys_values()
    function = partial(naive, scores)
    ours, planned = _planned(function, q, k, v)
    other_way = [jnp.swapaxes(each, 1, 2) for each in (q, k, v)]
    theirs = _compiled(cudnn, *other_way)
    mine, other = _in_turns([partial(ours, q, k, v), partial(theirs, *other_way)], rounds)
    flops = 4 * HEADS * D * pairs(window)
    rate, their_rate = flops / mine, 4 * HEADS * D * pairs(LENGTH) / other
    error = _error(_last_rows(function, q, k, v), ours(q, k, v)[:, :1, -256:])
    return GpuRow(name, asked, rate / their_rate, error, mine, other, rate / 1e12, planned=planned)


def _last_rows(function: Function, q: Array, k: Array, v: Array) -> Array:
    """Of the first head, in float32: what all heads need would not fit into memory."""
    first = (each[:, :1].astype(jnp.float32) for each in (q, k, v))
    return jax.jit(function)(*first)[:, :, -256:]


def against_naive(scores: Any, name: str, asked: float, rounds: int) -> GpuRow:
    arrays = queries_keys_values()
    row = against_plain(partial(naive, scores), arrays, name, asked, rounds)
    assert row.ours is not None
    return replace(row, tera_flops=4 * HEADS * D * pairs(LENGTH) / row.ours / 1e12)


def against_plain(
    function: Any, arrays: Sequence[Any], name: str, asked: float, rounds: int
) -> GpuRow:
    ours, planned = _planned(function, *arrays)
    plain = _compiled(function, *arrays)
    mine, other = _in_turns([partial(ours, *arrays), partial(plain, *arrays)], rounds)
    error, memory = _errors(plain(*arrays), ours(*arrays)), _memory(plain, ours)
    return GpuRow(name, asked, other / mine, error, mine, other, memory=memory, planned=planned)


def mamba(x: Array, dt: Array, a: Array, b: Array, c: Array) -> Array:
    def step(h: Array, each: tuple[Array, ...]) -> tuple[Array, Array]:
        x, dt, b, c = each
        h = jnp.exp(dt[:, None] * a) * h + dt[:, None] * b[None, :] * x[:, None]
        return h, h @ c

    return jax.lax.scan(step, jnp.zeros(a.shape), (x, dt, b, c))[1]


def against_scan(name: str, asked: float, rounds: int) -> GpuRow:
    return against_plain(mamba, mamba_arguments(4096, 1024, 16), name, asked, rounds)


def heads_last(scores: Any, q: Array, k: Array, v: Array) -> Array:
    """(b, s, h, d) attention, everything written out."""
    s = jnp.einsum("bihd,bjhd->bhij", q, k) / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])[None, :]
    weights = jax.nn.softmax(scores(s.astype(jnp.float32), i, j), axis=-1).astype(v.dtype)
    return jnp.einsum("bhij,bjhd->bihd", weights, v)


def against_cudnn_heads_last(scores: Any, name: str, asked: float, rounds: int) -> GpuRow:
    given = [jnp.swapaxes(each, 1, 2) for each in queries_keys_values()]
    function = partial(heads_last, scores)
    (ours, planned), theirs = _planned(function, *given), _compiled(cudnn, *given)
    mine, other = _in_turns([partial(ours, *given), partial(theirs, *given)], rounds)
    exact = _last_rows(partial(naive, scores), *queries_keys_values())
    error = _error(exact, jnp.swapaxes(ours(*given), 1, 2)[:, :1, -256:])
    rate = 4 * HEADS * D * pairs(LENGTH) / mine
    return GpuRow(name, asked, other / mine, error, mine, other, rate / 1e12, planned=planned)


SHORTER = 4096
"""Positions where gradients are taken."""


def squares(attention: Function) -> Any:
    """Something to take gradients of."""

    def loss(*arrays: Array) -> Array:
        return jnp.sum(attention(*arrays).astype(jnp.float32) ** 2)

    return jax.value_and_grad(loss, (0, 1, 2))


def gradients_against_cudnn(name: str, asked: float, rounds: int) -> GpuRow:
    """Each in the order of heads and positions that it is used to."""
    given = [drawn(1, HEADS, SHORTER, D, seed=k) for k in range(3)]
    ours, planned = _planned(squares(partial(naive, causal)), *given)
    turned = [jnp.swapaxes(each, 1, 2) for each in given]
    theirs = _compiled(squares(cudnn), *turned)
    mine, other = _in_turns([partial(ours, *given), partial(theirs, *turned)], rounds)
    exact = [jnp.swapaxes(each, 1, 2) for each in theirs(*turned)[1]]
    error = _errors(exact, list(ours(*given)[1]))
    return GpuRow(name, asked, other / mine, error, mine, other, planned=planned)


def gradients_against_plain(
    attention: Function, heads_first: bool, name: str, asked: float, rounds: int
) -> GpuRow:
    shape = (1, HEADS, SHORTER, D) if heads_first else (1, SHORTER, HEADS, D)
    arrays = [drawn(*shape, seed=k) for k in range(3)]
    return against_plain(squares(attention), arrays, name, asked, rounds)


def of_jax(q: Array, k: Array, v: Array) -> Array:
    """(b, s, h, d), causal, as JAX's users write it; what is masked is set to a finite number."""
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")


def training(in_a_loop: bool, name: str, asked: float, rounds: int) -> GpuRow:
    """A step of a GPT in bfloat16; in a loop its layers are computed again for their gradients."""
    function, args = train_step(4, 2048, in_a_loop=in_a_loop, again=in_a_loop, d=512)
    return against_plain(function, jax.tree.map(_narrow, list(args)), name, asked, rounds)


def _narrow(array: Any) -> Array:
    made = jnp.asarray(array)
    return made.astype("bfloat16") if jnp.issubdtype(made.dtype, jnp.floating) else made


def of_case(case: Case, name: str, asked: float, rounds: int) -> GpuRow:
    """A case of the other table."""
    function, args = case.make()
    return against_plain(function, jax.tree.map(jnp.asarray, list(args)), name, asked, rounds)


def _compiled(function: Any, *arrays: Any) -> Any:
    return jax.jit(function).lower(*arrays).compile()


def _planned(function: Any, *arrays: Any) -> tuple[Any, float]:
    """Conducted and compiled, and the seconds that this took."""
    begun = time.perf_counter()
    return _compiled(conduct(function), *arrays), time.perf_counter() - begun


def _memory(plain: Any, ours: Any) -> float:
    was, now = (each.memory_analysis().temp_size_in_bytes for each in (plain, ours))
    return float(was / max(now, 1))


def _in_turns(functions: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Seconds of a call, medians of rounds that take turns."""
    taken: list[list[float]] = [[] for _ in functions]
    for function in functions:
        jax.block_until_ready(function())
    for _ in range(rounds):
        for function, seconds in zip(functions, taken, strict=True):
            begun = time.perf_counter()
            jax.block_until_ready([function() for _ in range(CALLS)])
            seconds.append((time.perf_counter() - begun) / CALLS)
    return [statistics.median(each) for each in taken]


def _error(expected: Any, found: Any) -> float:
    x, y = np.asarray(expected).astype("complex128"), np.asarray(found).astype("complex128")
    return float(np.max(np.abs(x - y), initial=0.0) / (np.max(np.abs(x), initial=0.0) or 1.0))


def _errors(expected: Any, found: Any) -> float:
    pairs = zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True)
    return max(_error(one, other) for one, other in pairs)


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
        "window of 1024 with gradients, S = 4096: of plain jax.jit's",
        0.97,
        partial(gradients_against_plain, partial(naive, in_window), True),
    ),
    (
        "soft-capped with gradients, S = 4096: of plain jax.jit's",
        0.97,
        partial(gradients_against_plain, partial(naive, soft_capped), True),
    ),
    ("GPT in bfloat16, 4 layers, training, S = 2048: of plain", 0.97, partial(training, False)),
    ("the same in a loop, layers computed again: of plain", 0.97, partial(training, True)),
    ("Mamba as lax.scan, L = 4096, 1024 x 16: of plain jax.jit's", 100.0, against_scan),
    *(
        (f"{case.name}: of plain", 0.97, partial(of_case, case))
        for case in CASES
        if case.name in OF_CASES
    ),
]
"""What it is, the ratio that is asked, and what measures it."""
