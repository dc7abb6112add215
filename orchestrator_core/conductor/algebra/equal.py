"""Common subexpressions: nodes that do the same to the same values are one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import numpy as np

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import OPAQUE
from orchestrator_core.conductor.ir.value import Atom, Value

EACH = frozenset(
    {"optimization_barrier", "pure_callback", "io_callback", "ffi_call", "rng_uniform", "copy_p"}
)
"""Each of them counts: it was asked for twice on purpose, or is not the same twice."""


class Seen:
    """The nodes met so far, by what they do."""

    def __init__(self) -> None:
        self._nodes: dict[Hashable, Node] = {}

    def twin(self, node: Node) -> Node | None:
        """An earlier node that makes the same values; else this one is remembered."""
        key = key_of(node)
        if key is None:
            return None
        earlier = self._nodes.setdefault(key, node)
        return None if earlier is node else earlier


def key_of(node: Node) -> Hashable | None:
    """What a node does to what; None if it must be left alone.

    Random bits depend on settings of JAX that are not among their parameters.
    """
    if node.effects or node.primitive is None or node.name in EACH:
        return None
    if node.name.startswith(("random_", "threefry")):
        return None
    params = tuple((key, _exact(each)) for key, each in sorted(node.params.items()))
    if any(isinstance(each, str) and each.startswith(OPAQUE) for _, each in params):
        return None
    key = (node.primitive, params, tuple(_name(each) for each in node.inputs))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _exact(param: Any) -> Hashable:
    """A parameter that equals only its own kind: -0.0 is not 0.0 here, nor is 1 True."""
    if isinstance(param, tuple):
        return tuple(map(_exact, param))
    if isinstance(param, bool | int | float | complex | np.generic):
        return type(param), repr(param)
    return cast(Hashable, param)


def _name(atom: Atom) -> Hashable:
    return atom if isinstance(atom, Value) else atom.bits
