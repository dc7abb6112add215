"""A name for what a graph computes: equal for graphs that are the same but for identities."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value, as_printed

ADDRESS = re.compile(r" at 0x[0-9a-f]+")

PLAIN = frozenset({str, int, bool, float, complex, bytes, type(None)})


def signature(graph: Graph) -> str:
    """Of a graph as it was read: 32 hexadecimal digits for operations, their parameters, types, and
    who reads what; neither for the elements of constants nor for source lines. Stable from one
    process to the next."""
    text = "\n".join(_Writer().lines(graph))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class _Writer:
    """Writes a graph down, with numbers for values."""

    def __init__(self) -> None:
        self._types: dict[Any, str] = {}

    def lines(self, graph: Graph) -> list[str]:
        numbers: dict[Value, str] = {}

        def name(atom: Atom) -> str:
            if isinstance(atom, Literal):
                return f"{as_printed(atom.value)}:{self._type(atom.aval)}"
            return numbers[atom]

        def new(value: Value) -> str:
            numbers[value] = str(len(numbers))
            return self._type(value.aval)

        lines = ["in " + " ".join(map(new, graph.inputs))]
        lines += ["constant " + new(value) for value in graph.constants]
        for node in graph.nodes:
            read = " ".join(map(name, node.inputs))
            made = " ".join(map(new, node.outputs))
            lines.append(f"{node.name} {read} -> {made} {self._params(node)}")
            for body in node.bodies:
                lines += ["{", *self.lines(body), "}"]
        return [*lines, "out " + " ".join(map(name, graph.outputs))]

    def _type(self, aval: Any) -> str:
        """Shape, element type, weakness; the same object for the same type."""
        found = self._types.get(aval)
        if found is None:
            weak = "~" if getattr(aval, "weak_type", False) else ""
            found = self._types[aval] = f"{aval}{weak}"
        return found

    def _params(self, node: Node) -> str:
        """The parameters; bodies that are graphs of their own are left out."""
        if not node.params:
            return "{}"
        bodies = {"jaxpr", "cond_jaxpr", "body_jaxpr", "branches"} if node.bodies else set()
        params = {k: self._plain(v) for k, v in sorted(node.params.items()) if k not in bodies}
        text = repr(params)
        return ADDRESS.sub("", text) if " at 0x" in text else text

    def _plain(self, value: Any) -> Any:
        """Functions are written by their names: what they print shows where they are in memory."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, tuple | list):
            return [each if type(each) in PLAIN else self._plain(each) for each in value]
        if isinstance(value, Mapping):
            return {str(key): self._plain(each) for key, each in value.items()}
        if callable(value) and hasattr(value, "__qualname__"):
            return f"{value.__module__}.{value.__qualname__}"
        return value
