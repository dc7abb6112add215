"""A split is slices side by side."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.split import as_slices


def test_each_slice_is_made_where_the_split_was() -> None:
    graph = read(jax.make_jaxpr(lambda x: jax.lax.split(x, (1, 3)))(jnp.arange(4.0)))
    (node,) = graph.nodes
    slices = as_slices(node)
    assert [each.output for each in slices] == list(node.outputs)
    assert {(each.source, each.context) for each in slices} == {(node.source, node.context)}
    (first,), (second,) = (each.apply([jnp.arange(4.0)]) for each in slices)
    assert (first.tolist(), second.tolist()) == ([0], [1, 2, 3])
