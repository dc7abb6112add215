"""What it costs a CPU to turn an array: XLA writes the result row by row, and so reads across the
rows of what it turns, a line of the cache for each element. A line holds the next elements too, if
it is still there when they are asked for: fewer lines fit the farther they are apart by powers of
two, since an address says in which few places of a cache its line may lie (Hennessy and Patterson,
appendix B: conflict misses)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator_core.conductor.cost.device import LAST_CACHE, SHARED, Device
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.cost.fusion_facts import SPREADING
from orchestrator_core.conductor.ir.node import Node

LINE = 64
"""Bytes."""

PAGE = 4096
"""Bytes; a core fetches ahead within one."""


class Cache(NamedTuple):
    """Of one core: `ways` lines for each of `sets` remainders of a line's number."""

    sets: int
    ways: int

    def lines(self, apart: int) -> int:
        """How many it holds of lines that are multiples of `apart` bytes from each other."""
        if apart % LINE:
            return self.sets * self.ways
        return self.ways * self.sets // math.gcd(apart // LINE, self.sets)


FIRST, SECOND = Cache(64, 8), Cache(1024, 8)
"""32 and 512 KiB."""

FROM_SECOND, FROM_LAST, FROM_OTHER_PAGE, FROM_MEMORY = 1.5e-9, 4e-9, 9e-9, 14e-9
"""Seconds of one core for each element that comes from the second cache; or from beyond it; or so,
the one before it being on another page; or so, of more than the last cache holds. Measured, EPYC,
2026: 1.1 to 2.6, 3 to 5.4, 5.4 to 16 (half of them more than 9), and 14 to 17 ns; 0.4 to 0.8 where
the first holds all, as of any element of a kernel."""


def strided_s(group: Group, device: Device) -> float:
    """Seconds that a kernel waits for elements of what it turns."""
    if device.platform != "cpu":
        return 0.0
    spread = {node.output for node in group.nodes if node.name in SPREADING}
    turned = [n for n in group.nodes if n.name == "transpose" and n.inputs[0] not in spread]
    if not turned:
        return 0.0
    is_shared = group.root.outputs[0].size >= SHARED and not device.is_alone
    return sum(map(_waiting, turned)) / (device.cores if is_shared else 1)


def _waiting(node: Node) -> float:
    source = node.inputs[0]
    if not source.size:
        return 0.0
    itemsize = source.nbytes // source.size
    parts = reuses(source.shape, node.params["permutation"], itemsize)
    is_kept = source.nbytes <= LAST_CACHE
    return source.size * sum(each.part * each.seconds(is_kept) for each in parts)


class Reuse(NamedTuple):
    """So large a part of the elements lies in a line that was read before, `lines` other ones ago,
    all of them multiples of `apart` bytes from each other."""

    part: float
    lines: int
    apart: int

    def seconds(self, is_kept: bool) -> float:
        """Of one element of an array that the last cache holds or not."""
        if self.lines <= FIRST.lines(self.apart):
            return 0.0
        if self.lines <= SECOND.lines(self.apart):
            return FROM_SECOND
        if self.apart < PAGE:
            return FROM_LAST
        return FROM_OTHER_PAGE if is_kept else FROM_MEMORY


def reuses(shape: Sequence[int], order: Sequence[int], itemsize: int) -> Iterator[Reuse]:
    """Of reading an array of this shape in this order of its axes, the last one innermost."""
    left, lines, apart = 1.0, 1, 0
    for axis in reversed(order):
        stride = itemsize * math.prod(shape[axis + 1 :])
        if stride >= LINE:
            lines, apart = lines * shape[axis], math.gcd(apart, stride)
            continue
        again = max(1, min(shape[axis], LINE // stride))
        yield Reuse(left - left / again, lines, apart)
        left /= again
