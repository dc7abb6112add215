"""Chunks: a backward loop that has what it needs of the forward loop recomputed, chunk by chunk.

The forward loop keeps what it carries at the start of each chunk alone. Of T steps this keeps
``T / K`` carries and the values of K steps, where K is the length of a chunk, instead of the values
of T steps (A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
automatic differentiation", 1992, with one level). The values are the same.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.pair import Pair
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.splice import spliced

Arrays = Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Chunks:
    """T steps as chunks of K, and the rest, which the forward loop does last.

    Attributes:
        length: T. size: K. reverse: of the forward loop.
    """

    length: int
    size: int
    reverse: bool

    @classmethod
    def of(cls, pair: Pair) -> Chunks:
        """Those that keep about the least. Some of what a step keeps is fused away in a chunk, so
        chunks are half again as long as its size says."""
        best = 1.5 * math.sqrt(pair.forward.length * pair.carry_bytes / max(pair.kept_bytes, 1))
        length = pair.forward.length
        sizes = [k for k in range(2, length) if length % k == 0 and best / 2 <= k <= 2 * best]
        size = min(sizes, key=lambda k: abs(math.log(k / best)), default=0)
        return cls(length, size or max(2, min(round(best), length)), pair.forward.reverse)

    def bytes_of(self, pair: Pair) -> int:
        """That are kept now."""
        return self.count * pair.carry_bytes + self.size * pair.kept_bytes

    @property
    def count(self) -> int:
        return self.length // self.size

    @property
    def rest(self) -> int:
        return self.length % self.size

    def main(self, arrays: Arrays) -> list[Any]:
        """Each as chunks: of the shape (count, size, ...)."""
        start = self.rest if self.reverse else 0
        stop = start + self.count * self.size
        return [x[start:stop].reshape(self.count, self.size, *x.shape[1:]) for x in arrays]

    def tail(self, arrays: Arrays) -> list[Any]:
        return [x[: self.rest] if self.reverse else x[self.length - self.rest :] for x in arrays]

    def joined(self, main: Arrays, tail: Arrays) -> list[Any]:
        whole = [x.reshape(-1, *x.shape[2:]) for x in main]
        if not self.rest:
            return whole
        pairs = zip(whole, tail, strict=True)
        return [jnp.concatenate([t, w] if self.reverse else [w, t]) for w, t in pairs]


def run(
    scan: Scan,
    outputs: Sequence[int],
    consts: Arrays,
    carry: Arrays,
    xs: Arrays,
    length: int | None = None,
) -> Any:
    """So many steps of a scan (None: all): the last carries, and the results that are asked for."""
    count = len(scan.carry)
    ends = [*scan.carry_outputs, *(scan.y_outputs[k] for k in outputs)]
    body = piece(scan.body, scan.body.inputs, ends)

    def step(carry: Any, x: Any) -> Any:
        made = evaluate(body, [*consts, *carry, *x])
        return made[:count], made[count:]

    steps = scan.length if length is None else length
    return jax.lax.scan(step, list(carry), list(xs), steps, scan.reverse, scan.unroll)


def whole(scan: Scan, consts: Arrays, carry: Arrays, xs: Arrays) -> list[Any]:
    """All that a scan makes, as it was."""
    last, ys = run(scan, range(len(scan.ys)), consts, carry, xs)
    return [*last, *ys]


def in_chunks(graph: Graph, pair: Pair, chunks: Chunks) -> Graph:
    """The graph in which the pair keeps carries at the starts of chunks."""
    scan = pair.forward
    starts = [
        Value(each.aval.update(shape=(chunks.count, *each.shape), weak_type=False))
        for each in scan.carry_inputs
    ]
    rest = [Value(each.aval.update(weak_type=False)) for each in scan.carry_inputs]
    held = len(graph.outputs)
    more = dataclasses.replace(graph, outputs=(*graph.outputs, *starts, *rest))
    shown = [k for k in range(len(scan.ys)) if k not in pair.kept]

    def forward(*arrays: Any) -> list[Any]:
        return _forward(scan, shown, chunks, arrays)

    outputs = [*scan.last, *(scan.ys[k] for k in shown), *starts, *rest]
    more = spliced(more, forward, scan_inputs(scan), outputs, pair.first.source)
    kept = more.outputs[held:]
    second = next(node for node in more.nodes if pair.second.outputs[0] in node.outputs)
    others = [x for x in second.inputs if x not in [scan.ys[k] for k in pair.kept]]

    def backward(*arrays: Any) -> list[Any]:
        return _backward(pair, chunks, len(kept), len(scan_inputs(scan)), arrays)

    inputs = [*kept, *scan_inputs(scan), *others]
    more = spliced(more, backward, inputs, second.outputs, pair.second.source)
    return dataclasses.replace(more, outputs=more.outputs[:held]).with_nodes(more.nodes)


def scan_inputs(scan: Scan) -> list[Any]:
    return [*scan.consts, *scan.carry, *scan.xs]


def _forward(scan: Scan, shown: Sequence[int], chunks: Chunks, arrays: Arrays) -> list[Any]:
    """The last carries, what is shown, and the carries at the starts of chunks and of the rest."""
    consts, carry, xs = _split(scan, arrays)

    def chunk(carry: Any, xs: Any) -> Any:
        last, ys = run(scan, shown, consts, carry, xs, chunks.size)
        return last, (ys, carry)

    main, carry = chunks.main(xs), list(carry)
    rest, (ys, starts) = jax.lax.scan(chunk, carry, main, chunks.count, chunks.reverse)
    if not chunks.rest:
        return [*rest, *chunks.joined(ys, []), *starts, *rest]
    last, tail = run(scan, shown, consts, rest, chunks.tail(xs), chunks.rest)
    return [*last, *chunks.joined(ys, tail), *starts, *rest]


def _backward(pair: Pair, chunks: Chunks, kept: int, read: int, arrays: Arrays) -> list[Any]:
    """What the second loop makes."""
    scan, other = pair.forward, pair.backward
    starts, rest = arrays[: kept // 2], arrays[kept // 2 : kept]
    consts, _, xs = _split(scan, arrays[kept : kept + read])
    given = _Given(pair, arrays[kept + read :])

    def chunk(carry: Any, now: Any, length: int = chunks.size) -> Any:
        start, xs, others = now
        _, again = run(scan, pair.kept, consts, start, xs, length)
        every, slices = range(len(other.ys)), given.slices(again, others)
        return run(other, every, given.consts, carry, slices, length)

    tail: Any = []
    carry = list(given.carry)
    if chunks.rest:
        now = list(rest), chunks.tail(xs), chunks.tail(given.others)
        carry, tail = chunk(carry, now, chunks.rest)
    now = list(starts), chunks.main(xs), chunks.main(given.others)
    last, ys = jax.lax.scan(chunk, carry, now, reverse=other.reverse)
    return [*last, *chunks.joined(ys, tail)]


class _Given:
    """What the second loop reads without what was kept for it, in its own order."""

    def __init__(self, pair: Pair, arrays: Arrays) -> None:
        scan, other = pair.forward, pair.backward
        first = [scan.ys[k] for k in pair.kept]
        self.consts = arrays[: len(other.consts)]
        self.carry = arrays[len(other.consts) :][: len(other.carry)]
        self.others = arrays[len(other.consts) + len(other.carry) :]
        self._from = [first.index(x) if x in first else None for x in other.xs]

    def slices(self, again: Arrays, others: Arrays) -> list[Any]:
        rest = iter(others)
        return [next(rest) if k is None else again[k] for k in self._from]


def _split(scan: Scan, arrays: Arrays) -> tuple[Arrays, Arrays, Arrays]:
    first, second = len(scan.consts), len(scan.consts) + len(scan.carry)
    return arrays[:first], arrays[first:second], arrays[second:]
