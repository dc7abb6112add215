"""What programs look like apart from which values they are about: equal for those of equal layers.

Programs of equal looks do the same to the arrays that they are given in the same places, so one of
them is traced and stands for all.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

import jax
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.same import Same
from orchestrator_core.conductor.ir.value import Value


def looks(*parts: object) -> Hashable:
    """Of whatever a program is made of: the values it reads, in their order, then what it does."""
    return _Writer().of(parts)


class Shared:
    """Programs by their looks: of those that look the same only the first is ever traced."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Callable[[Sequence[Any]], Any]] = {}

    def of(self, node: Node, *parts: object) -> Node:
        """The node of a program, or the like that does what the first of these looks did.

        Args:
            parts: all that its `apply` depends on, beside what the node reads and makes.
        """
        key = looks(node.inputs, node.outputs, *parts)
        if key not in self._known:
            self._known[key] = _traced_once(node.apply)
        return dataclasses.replace(node, apply=self._known[key])


def _traced_once(apply: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[[Sequence[Any]], Any]:
    jitted = jax.jit(lambda *arrays: list(apply(arrays)))
    return lambda arrays: jitted(*arrays)


class _Writer:
    """Values and nodes get numbers as they come; what is not known here is like itself alone."""

    def __init__(self) -> None:
        self._numbers: dict[Value | Node, int] = {}

    def of(self, what: Any) -> Hashable:
        kind: Any = type(what)
        if kind is str or kind is int or what is None:
            return cast(Hashable, what)
        if kind is Value or kind is Node:
            return self._numbered(what)
        if isinstance(what, tuple | list):
            return kind, *map(self.of, what)
        if isinstance(what, Mapping):
            return "mapping", *((self.of(k), self.of(v)) for k, v in what.items())
        fields = _fields(kind)
        if fields:
            return kind, *(self.of(getattr(what, name)) for name in fields)
        return self._of_number(what)

    def _of_number(self, what: Any) -> Hashable:
        """Or of what is nothing else that is known."""
        if isinstance(what, float | complex):
            return type(what), repr(what)  # of zeros the sign counts
        if isinstance(what, np.ndarray | np.generic):
            return "array", what.shape, what.dtype.str, what.tobytes()
        if isinstance(what, functools.partial):
            return "partial", self.of((what.func, what.args, what.keywords))
        return type(what), Same.unless_hashable(what)

    def _numbered(self, what: Value | Node) -> Hashable:
        number = self._numbers.get(what)
        if number is not None:
            return "number", number
        number = self._numbers[what] = len(self._numbers)
        if isinstance(what, Value):
            return "value", number, what.aval
        does = what.apply if what.primitive is None else what.primitive
        params = {name: what.params[name] for name in sorted(what.params)}
        about = (what.name, params, what.inputs, what.outputs, what.bodies, what.effects)
        return "node", number, self.of(does), self.of(about), _jax.settings_of(what.context)


@functools.lru_cache(maxsize=256)
def _fields(kind: type) -> tuple[str, ...]:
    """What counts of objects of a class: what the class says, or all fields; empty if neither."""
    if hasattr(kind, "essence"):
        return ("essence",)
    is_one = dataclasses.is_dataclass(kind)
    return tuple(each.name for each in dataclasses.fields(kind)) if is_one else ()
