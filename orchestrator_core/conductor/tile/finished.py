"""The node of a boundary: its sum is finished, and done again as it was written where in doubt.

Rewriting as in real numbers is right as long as all numbers are finite and of usual size. Whether
they are is seen in the result, when the function runs; if not, the boundary is summed once more in
tiles, by the equations of the original. So infinities, NaN and overflow spread as they do there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost import Work
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.doubt import usual_rows
from orchestrator_core.conductor.tile.finish import Finish
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.sole import limit_of


@dataclass(frozen=True)
class Finished:
    """What the node of a boundary does with what it reads: first what is accumulated, then what
    `finish` needs beside, then what `alone` does.

    Attributes:
        held: how many are accumulated: the sum; the running maximum if there is one; for a sum
            that is read off another one, the sum of the exponentials.
        alone: sums the boundary as it is written; None if it was summed so.
    """

    finish: Finish
    held: int
    alone: Runner | None

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        given = list(arrays)
        made = self._made(given)
        if self.alone is not None:
            are_usual = self.usual(made, given)

            def as_written(given: list[Any]) -> Any:
                """Only rows in doubt: in tiles of another size the others would be rounded
                otherwise than the maxima that they were shifted by."""
                return jnp.where(are_usual, self._made(given), self._as_written(given))

            # Made once more within the branch, so that there is one array of it and not two.
            made = lax.cond(are_usual.all(), self._made, as_written, given)
        return [made, *self._limit(made, given)]

    @property
    def reads(self) -> int:
        """How many of its inputs are read where nothing is in doubt; they come first."""
        return self.held + len(self.finish.extra)

    def derived(self, arrays: Sequence[Any]) -> list[Any]:
        """What the node makes where nothing is in doubt."""
        made = self._made(arrays)
        return [made, *self._limit(made, arrays)]

    def usual(self, made: Any, arrays: Sequence[Any], axes: Sequence[int] | None = None) -> Any:
        """Of each row of what was derived: is nothing in doubt?

        Args:
            axes: that are no rows; see `usual_rows`.
        """
        shift = arrays[1] if self.held > 1 else None
        return usual_rows(self.finish, made, arrays[0], shift, self._extra(arrays), axes)

    def _made(self, arrays: Sequence[Any]) -> Any:
        shift = arrays[1] if self.held > 1 else None
        return self.finish(arrays[0], shift, self._extra(arrays))

    def _extra(self, arrays: Sequence[Any]) -> Mapping[Value, Any]:
        return dict(zip(self.finish.extra, arrays[self.held : self.reads], strict=True))

    def _as_written(self, arrays: Sequence[Any]) -> Any:
        assert self.alone is not None
        output = self.finish.plan.node.output
        return self.alone(arrays[self.reads :])[0].astype(output.dtype).reshape(output.shape)

    def _limit(self, made: Any, arrays: Sequence[Any]) -> list[Any]:
        exchange = self.finish.plan.exchange
        if exchange is None or exchange.sole is None:
            return []
        _, shift, total = arrays[: self.held]
        return [made, limit_of(exchange.sole, exchange.out_labels, shift, total)]


def finished(finish: Finish, held: tuple[Value, ...], alone: Runner | None) -> Node:
    """The node that makes a boundary's result of what is accumulated; see `Finished`."""
    node, exchange, extra = finish.plan.node, finish.plan.exchange, finish.extra
    read = alone.one.recipe.values if alone is not None else ()
    sole = exchange.sole if exchange is not None else None
    more = (sole.again, sole.limit) if sole is not None else ()
    size, moved = node.output.size, sum(each.nbytes for each in (*held, *extra, node.output))
    work = Work(flops=4.0 * size, nbytes=float(moved), kernels=1.0)
    does = Finished(finish, len(held), alone)
    params = {"work": work, "spec": finish.plan.boundary.out, "finished": does}
    outputs = (*node.outputs, *more)
    return Node("tiled_sum", (*held, *extra, *read), outputs, does, params, source=node.source)
