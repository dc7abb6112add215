"""The node of a boundary: its sum is finished, and done again as it was written where in doubt.

Rewriting as in real numbers is right as long as all numbers are finite and of usual size. Whether
they are is seen in the result, when the function runs; if not, the boundary is summed once more in
tiles, by the equations of the original. So infinities, NaN and overflow spread as they do there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost import Work
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.doubt import usual_rows
from orchestrator_core.conductor.tile.finish import Finish
from orchestrator_core.conductor.tile.plans import Exchange
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.sole import limit_of


def finished(finish: Finish, held: tuple[Value, ...], alone: Runner | None) -> Node:
    """The node that makes a boundary's result.

    Args:
        held: what is accumulated: the sum; the running maximum if there is one; for a sum that is
            read off another one, the sum of the exponentials.
        alone: sums the boundary as it is written; None if it was summed so.
    """
    node, exchange = finish.plan.node, finish.plan.exchange
    extra, read = finish.extra, alone.one.recipe.values if alone is not None else ()
    inputs = (*held, *extra, *read)
    sole = exchange.sole if exchange is not None else None
    more = (sole.again, sole.limit) if sole is not None else ()

    def apply(arrays: Sequence[Any]) -> list[Any]:
        sums, given = arrays[: len(held)], arrays[len(held) + len(extra) :]
        others = arrays[len(held) : len(held) + len(extra)]
        shift = sums[1] if len(sums) > 1 else None

        def as_derived(sums: Sequence[Any], others: Sequence[Any], given: Sequence[Any]) -> Any:
            return finish(sums[0], shift, dict(zip(extra, others, strict=True)))

        def as_written(sums: Sequence[Any], others: Sequence[Any], given: Sequence[Any]) -> Any:
            """Only rows in doubt: in tiles of another size the others would be rounded otherwise
            than the maxima that they were shifted by."""
            assert alone is not None
            made = as_derived(sums, others, given)
            return jnp.where(are_usual, made, _as_written(finish, alone, given))

        made = as_derived(sums, others, given)
        if alone is not None:
            by_value = dict(zip(extra, others, strict=True))
            are_usual = usual_rows(finish, made, sums[0], shift, by_value)
            # Made once more within the branch, so that there is one array of it and not two.
            made = lax.cond(are_usual.all(), as_derived, as_written, sums, others, given)
        return [made, *_with_limit(exchange, made, sums)]

    size, moved = node.output.size, sum(each.nbytes for each in (*held, *extra, node.output))
    work = Work(flops=4.0 * size, nbytes=float(moved), kernels=1.0)
    outputs = (*node.outputs, *more)
    params = {"work": work, "spec": finish.plan.boundary.out}
    return Node("tiled_sum", inputs, outputs, apply, params, source=node.source)


def _as_written(finish: Finish, alone: Runner, given: Sequence[Any]) -> Any:
    output = finish.plan.node.output
    return alone(given)[0].astype(output.dtype).reshape(output.shape)


def _with_limit(exchange: Exchange | None, made: Any, sums: Sequence[Any]) -> list[Any]:
    if exchange is None or exchange.sole is None:
        return []
    _, shift, total = sums
    return [made, limit_of(exchange.sole, exchange.out_labels, shift, total)]
