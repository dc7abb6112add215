"""Loops and branches whose bodies were rewritten."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.ir.evaluate import traced
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive


def with_bodies(node: Node, bodies: Sequence[Graph]) -> Node:
    """The same loop, which does in its bodies what these do. They take and return the same.

    The jaxprs in its parameters are traced anew; what the loop is for JAX (its counts, direction,
    unrolling) stays.
    """
    jaxprs = [traced(body) for body in bodies]
    params = dict(node.params)
    if node.name == "scan":
        (params["jaxpr"],) = jaxprs
    elif node.name == "while":
        params["cond_jaxpr"], params["body_jaxpr"] = jaxprs
    else:
        params["branches"] = tuple(jaxprs)
    return of_primitive(
        node.primitive,
        node.inputs,
        node.outputs,
        params,
        bodies=tuple(bodies),
        effects=node.effects,
        source=node.source,
        context=node.context,
    )
