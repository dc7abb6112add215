"""The loop that does what a parallel scan does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Value
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
    product = soup.on(carried, constants or {})

    def step(carry: Any, now: Any) -> Any:
        is_first, xs = now
        right = {
            part: jnp.expand_dims(x, axis) for part, x, axis in zip(parts, xs, axes, strict=True)
        }
        made = product(dict(zip(carried, carry, strict=True)), right)
        new = [
            jnp.where(is_first, right[part], each) for part, each in zip(carried, made, strict=True)
        ]
        kept = [new[carried.index(part)] for part in soup.results]
        return new, [
            jnp.squeeze(each, soup.arrays[part][1])
            for each, part in zip(kept, soup.results, strict=True)
        ]

    start = [jnp.zeros(soup.aval(part).shape, soup.aval(part).dtype) for part in carried]
    is_first = jnp.arange(soup.length) == 0
    _, ys = jax.lax.scan(step, start, (is_first, slices))
    return [
        jnp.moveaxis(y, 0, soup.arrays[part][1]) for y, part in zip(ys, soup.results, strict=True)
    ]
