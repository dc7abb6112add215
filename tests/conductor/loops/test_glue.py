"""What happens to a stack happens to each of its slices."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.glue import of_slice


def test_a_slice_is_made_where_the_stack_was() -> None:
    stack = jnp.arange(12.0).reshape(2, 3, 2)
    graph = read(jax.make_jaxpr(lambda x: x.transpose(0, 2, 1))(stack))
    (node,) = graph.nodes
    made = of_slice(node, Value(jax.typeof(stack[0])))
    assert made is not None
    assert (made.source, made.context) == (node.source, node.context)
    (found,) = made.apply([stack[1]])
    assert found.tolist() == stack[1].T.tolist()
