"""From a closed jaxpr to a graph.

Calls are opened: what ``jit``, ``closed_call``, ``checkpoint`` and functions with derivatives of
their own compute forward becomes part of the graph. Derivatives are never taken of a graph but of
the original, so no custom rule is lost. Where ``checkpoint`` keeps XLA from computing once what was
asked for twice, the barrier that JAX would put there is a node. What is unstacked becomes slices,
and a polynomial its sums and products: there are facts about these. Loops and branches are nodes
with bodies. A call with a meaning of its own (donated arguments, shardings, compiler options, or
marked opaque) stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.seldom import collecting_seldom
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

OPAQUE = "orchestrator_opaque_"
"""What the name of a function begins with that is left alone."""

BODY = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
"""Calls that are opened, and the parameter that has their body."""

LOOPS: Mapping[str, Callable[[Mapping[str, Any]], Sequence[Any]]] = {
    "scan": lambda params: [params["jaxpr"]],
    "while": lambda params: [params["cond_jaxpr"], params["body_jaxpr"]],
    "cond": lambda params: params["branches"],
}


def read(jaxpr: Any) -> Graph:
    """The graph of a closed jaxpr; dead code is left out."""
    with collecting_seldom():
        return _read(jaxpr)


def _read(jaxpr: Any) -> Graph:
    reader = _Reader()
    body, constants = _jax.inner(jaxpr)
    inputs = tuple(Value(each.aval) for each in body.invars)
    outputs = reader.open(body, constants, inputs)
    for each in outputs:
        reader.bring(each)
    return pruned(Graph(inputs, tuple(outputs), tuple(reader.nodes), reader.constants))


class _Reader:
    """One walk over a jaxpr and all that it calls."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[Value, Any] = {}
        self._waiting: dict[Atom, Node] = {}

    def open(self, jaxpr: Any, constants: Sequence[Any], inputs: Sequence[Atom]) -> list[Atom]:
        """Adds the jaxpr's nodes; returns what it returns."""
        known: dict[Any, Atom] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, array in zip(jaxpr.constvars, constants, strict=True):
            known[variable] = value = Value(variable.aval)
            self.constants[value] = _as(array, variable.aval)

        def atom(each: Any) -> Atom:
            return Literal(each.val, each.aval) if isinstance(each, _jax.Literal) else known[each]

        for equation in jaxpr.eqns:
            made = self._take(equation, [atom(each) for each in equation.invars])
            known.update(zip(equation.outvars, made, strict=True))
        return [atom(each) for each in jaxpr.outvars]

    def _take(self, equation: Any, inputs: list[Atom]) -> Sequence[Atom]:
        name, params = equation.primitive.name, equation.params
        body = body_of(equation)
        if body is not None:
            which = is_barred(equation)
            return self.open(*_jax.inner(body), self._barred(inputs, which) if which else inputs)
        opened = _jax.written_out(equation)
        if opened is not None:
            return self._written_out(opened, inputs)
        outputs = tuple(Value(each.aval) for each in equation.outvars)
        bodies = tuple(_read(each) for each in LOOPS[name](params)) if name in LOOPS else ()
        self._put(
            of_primitive(
                equation.primitive,
                inputs,
                outputs,
                params,
                bodies=bodies,
                effects=frozenset(equation.effects),
                source=_jax.source_of(equation),
                context=_jax.context_of(equation),
            )
        )
        return outputs

    def _put(self, node: Node) -> None:
        if self._waiting:
            for each in node.inputs:
                self.bring(each)
        self.nodes.append(node)

    def bring(self, atom: Atom) -> None:
        """Puts what makes this, if that is waiting for somebody to read it."""
        node = self._waiting.pop(atom, None)
        if node is not None:
            self._put(node)

    def _written_out(self, jaxpr: Any, inputs: list[Atom]) -> Sequence[Atom]:
        """Each part stands where it is first read: turns of a loop that Python has unrolled are
        known by the slices that each begins with."""
        start = len(self.nodes)
        outputs = self.open(*_jax.inner(jaxpr), inputs)
        self._waiting.update({node.output: node for node in self.nodes[start:]})
        del self.nodes[start:]
        return outputs

    def _barred(self, inputs: list[Atom], which: bool | tuple[bool, ...]) -> list[Atom]:
        """As JAX lowers ``checkpoint``."""
        chosen = which if isinstance(which, tuple) else (which,) * len(inputs)
        behind = {id(i): Value(i.aval) for i, bar in zip(inputs, chosen, strict=True) if bar}
        barred = list({id(i): i for i, bar in zip(inputs, chosen, strict=True) if bar}.values())
        if barred:
            made = [behind[id(each)] for each in barred]
            self._put(of_primitive(_jax.optimization_barrier_p, barred, made, {}))
        return [behind[id(each)] if bar else each for each, bar in zip(inputs, chosen, strict=True)]


def body_of(equation: Any) -> Any:
    """Of a call that is opened; None of what becomes a node."""
    name = BODY.get(equation.primitive.name)
    return None if name is None or has_meaning(equation.params) else equation.params[name]


def is_barred(equation: Any) -> bool | tuple[bool, ...]:
    """Of what an opened call takes: all, none, or which of it stands behind a barrier."""
    return bool(equation.params.get("differentiated")) and equation.params.get("prevent_cse", False)


def has_meaning(params: Mapping[str, Any]) -> bool:
    """Would opening this call lose something that the user has asked for?"""
    return (
        any(params.get("donated_invars", ()))
        or bool(params.get("compiler_options_kvs"))
        or str(params.get("name", "")).startswith(OPAQUE)
        or any(each is not None for each in params.get("in_layouts", ()))
        or any(each is not None for each in params.get("out_layouts", ()))
        or any(_is_given(each) for each in params.get("in_shardings", ()))
        or any(_is_given(each) for each in params.get("out_shardings", ()))
    )


def _is_given(sharding: Any) -> bool:
    return sharding is not None and type(sharding).__name__ != "UnspecifiedValue"


def _as(array: Any, aval: Any) -> Any:
    """NumPy's arrays may be of a wider type than JAX takes them for."""
    if isinstance(array, np.ndarray) and array.dtype != aval.dtype:
        return array.astype(aval.dtype)
    return array
