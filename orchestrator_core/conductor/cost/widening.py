"""What XLA computes in 32 bits on a CPU though it is written in 16: products and convolutions. Its
libraries make no numbers of 16 bits, and take none of float16, so it widens copies of what they
read, and narrows what they make. Seen in JAX 0.10.2."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Value

PRODUCTS = frozenset({"conv_general_dilated", "dot_general"})

NARROW = ("bfloat16", "float16")


def widened(node: Node, platform: str) -> list[Node]:
    """The node between those that make its operands wider, and its result narrow again, if it needs
    such."""
    if platform != "cpu" or node.name not in PRODUCTS or not _is_too_narrow(node):
        return [node]
    wide = [_wider(each) for each in (*node.inputs, node.output)]
    before = [
        _cast(old, new) for old, new in zip(node.inputs, wide, strict=False) if new is not old
    ]
    *inputs, made = wide
    product = dataclasses.replace(node, inputs=tuple(inputs), outputs=(made,))
    return [*before, product, *([] if made is node.output else [_cast(made, node.output)])]


def _is_too_narrow(node: Node) -> bool:
    types = [str(each.dtype) for each in (*node.inputs, *node.outputs)]
    return "float16" in types or types[-1] in NARROW


def _wider(atom: Atom) -> Any:
    """A value of 32 bits for one of 16; all others are what they are."""
    if str(atom.dtype) not in NARROW:
        return atom
    return Value(_jax.ShapedArray(atom.shape, np.dtype("float32")))


def _cast(given: Atom, made: Value) -> Node:
    """Under the key of what JAX writes for it, so that it is made once for all who read it."""
    params = {"new_dtype": made.dtype, "weak_type": False, "sharding": None}
    return of_primitive(lax.convert_element_type_p, (given,), (made,), params)
