"""The loop that does what a parallel scan does.

It carries numbers of 32 bits where those of the scan have 16: one after another, terms are added to
ever more beside which they are small, and a thousand ones add up to 256 in bfloat16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.lost import LONG, lost_in
from orchestrator_core.conductor.recurrence.soup import Soup
from orchestrator_core.conductor.recurrence.splice import spliced


def in_a_loop(graph: Graph, soup: Soup, source: str = "") -> Graph:
    """The graph in which a loop makes the results."""
    constants = soup.constants

    def function(*arrays: Any) -> list[Any]:
        count = len(arrays) - len(constants)
        return looped(soup, arrays[:count], dict(zip(constants, arrays[count:], strict=True)))

    inputs = [*(soup.arrays[part][0] for part in soup.read), *constants]
    return spliced(graph, function, inputs, list(soup.results.values()), source)


BITS = 32
"""Of what is carried, at least."""


def looped(
    soup: Soup, arrays: Sequence[Any], constants: Mapping[Value, Any] | None = None
) -> list[Any]:
    """The results.

    Args:
        arrays: the parts that a loop must read. constants: what the operation reads beside them.
    """
    parts, carried = soup.read, list(soup.carried)
    axes = [soup.arrays[part][1] for part in parts]
    slices = [jnp.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)]
    product = soup.on(carried, constants or {}, BITS)
    types = {part: soup.long(soup.aval(part).dtype, BITS) for part in parts}

    sums = [part for part in carried if soup.length >= LONG and soup.is_sum(part)]

    def step(carry: Any, now: Any) -> Any:
        (before, lost), (is_first, xs) = carry, now
        right = {
            part: jnp.expand_dims(x, axis).astype(types[part])
            for part, x, axis in zip(parts, xs, axes, strict=True)
        }
        made = dict(zip(carried, product(before, right), strict=True))
        for part in sums:
            more = right[part] + lost[part]
            made[part] = before[part] + more
            lost = lost | {part: _fixed(lost_in(before[part], more, made[part]))}
        new = {part: jnp.where(is_first, right[part], each) for part, each in made.items()}
        return (new, lost), [
            jnp.squeeze(new[part], soup.arrays[part][1]).astype(soup.aval(part).dtype)
            for part in soup.results
        ]

    start = {part: jnp.zeros(soup.aval(part).shape, types[part]) for part in carried}
    nothing = {part: start[part] for part in sums}
    is_first = jnp.arange(soup.length) == 0
    _, ys = jax.lax.scan(step, (start, nothing), (is_first, slices))
    return [
        jnp.moveaxis(y, 0, soup.arrays[part][1]) for y, part in zip(ys, soup.results, strict=True)
    ]


def _fixed(lost: Any) -> Any:
    """Of real numbers it is always nothing, and so are its derivatives."""
    return jax.lax.stop_gradient(lost)
