"""A split as what it is: slices side by side."""

from __future__ import annotations

from jax import lax

from orchestrator_core.conductor.ir.node import Node, of_primitive


def as_slices(node: Node) -> list[Node]:
    """Each part cut out by itself."""
    axis, shape, at = node.params["axis"], node.inputs[0].shape, 0
    made: list[Node] = []
    for output in node.outputs:
        first, last = [0] * len(shape), [*shape]
        first[axis], last[axis] = at, at + output.shape[axis]
        at = last[axis]
        params = {"start_indices": tuple(first), "limit_indices": tuple(last), "strides": None}
        made.append(
            of_primitive(
                lax.slice_p,
                node.inputs,
                (output,),
                params,
                source=node.source,
                context=node.context,
            )
        )
    return made
