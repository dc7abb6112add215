"""Constant folding: numbers that follow from numbers written in the program.

Only of single numbers, and unless asked otherwise only by operations that are exact or correctly
rounded wherever they run, evaluated by JAX itself. Arrays stay as they are: an ``iota`` tells more
than its elements.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.exact import EXACT
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal


def folded(node: Node, names: Set[str] = EXACT) -> Literal | None:
    """The single number that a node makes, as JAX computes it; None if it is not known.

    Args:
        names: of the operations that are looked at.
    """
    if node.name not in names or len(node.outputs) != 1 or node.output.shape:
        return None
    values = [each.value for each in node.inputs if isinstance(each, Literal)]
    if len(values) != len(node.inputs):
        return None
    with _jax.no_trace():
        (made,) = node.apply(values)
    return Literal(np.asarray(made)[()], node.output.aval)
