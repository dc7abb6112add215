"""Nodes: an operation, what it reads, and what it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.value import Atom, Value

if TYPE_CHECKING:
    from orchestrator_core.conductor.ir.graph import Graph


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One operation of a graph. Known by its identity.

    Attributes:
        name: the primitive's, or what a rewrite calls the program that it has put here.
        apply: the arrays that it makes of arrays; while it is traced, these are tracers.
        params: the primitive's parameters; those of a program are free.
        bodies: of ``scan`` the body; of ``while`` the condition and the body; of ``cond`` the
            branches. Their inputs are those of the jaxprs in `params`.
        primitive: None for a program.
        effects: side effects; a node that has some is never moved past another that has.
        source: ``file.py:12 (function)`` where the user wrote it, or empty.
        context: what holds while a primitive is bound; None for nothing.
    """

    name: str
    inputs: tuple[Atom, ...]
    outputs: tuple[Value, ...]
    apply: Callable[[Sequence[Any]], Sequence[Any]]
    params: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[Graph, ...] = ()
    primitive: Any = None
    effects: frozenset[Any] = frozenset()
    source: str = ""
    context: Callable[[], Any] | None = None

    def __repr__(self) -> str:
        return f"{list(self.outputs)} = {self.name} {list(self.inputs)}"

    @property
    def output(self) -> Value:
        """The only one."""
        (only,) = self.outputs
        return only


def of_primitive(
    primitive: Any,
    inputs: Sequence[Atom],
    outputs: Sequence[Value],
    params: Mapping[str, Any],
    *,
    bodies: tuple[Graph, ...] = (),
    effects: frozenset[Any] = frozenset(),
    source: str = "",
    context: Callable[[], Any] | None = None,
) -> Node:
    """A node that binds a primitive."""

    def apply(arrays: Sequence[Any]) -> Sequence[Any]:
        if context is None:
            return _jax.bind(primitive, arrays, params)
        with context():
            return _jax.bind(primitive, arrays, params)

    return Node(
        primitive.name,
        tuple(inputs),
        tuple(outputs),
        apply,
        params,
        bodies,
        primitive,
        effects,
        source,
        context,
    )
