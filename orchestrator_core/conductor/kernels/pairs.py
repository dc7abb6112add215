"""Complex numbers as pairs of real ones, which is all that kernels know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.refused import Refused

Pair: TypeAlias = tuple[Any, Any]
"""Real and imaginary part."""


def is_complex(each: Any) -> bool:
    """Of a value or an array."""
    return bool(jnp.issubdtype(each.dtype, jnp.complexfloating))


def apart(arrays: Sequence[Any]) -> list[Any]:
    """Each complex array as two real ones."""
    return [
        part
        for each in arrays
        for part in ((jnp.real(each), jnp.imag(each)) if is_complex(each) else (each,))
    ]


def together(arrays: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """The other way round; `like` has the types."""
    left = iter(arrays)
    return [lax.complex(next(left), next(left)) if is_complex(e) else next(left) for e in like]


def in_reals(graph: Graph) -> Graph:
    """The same function of arrays apart.

    Raises:
        Refused: if something is done with complex numbers that is not known here.
    """
    if not any(
        is_complex(v) for v in (*graph.inputs, *(o for n in graph.nodes for o in n.outputs))
    ):
        return graph

    def program(*arrays: Any) -> list[Any]:
        left = iter(arrays)
        known: dict[Value, Any] = dict(graph.constants)
        for value in graph.inputs:
            known[value] = (next(left), next(left)) if is_complex(value) else next(left)
        for node in graph.nodes:
            known.update(zip(node.outputs, _done(node, known), strict=True))
        made = [_of(known, each) for each in graph.outputs]
        return [part for each in made for part in (each if isinstance(each, tuple) else (each,))]

    avals = [
        aval for v in graph.inputs for aval in ([_part(v)] * 2 if is_complex(v) else [_part(v)])
    ]
    return read(_jax.trace(program, avals))


def _part(value: Value) -> Any:
    dtype = value.dtype
    if is_complex(value):
        dtype = np.dtype(np.float32) if np.dtype(dtype).itemsize == 8 else np.dtype(np.float64)
    return _jax.ShapedArray(value.shape, dtype)


def _of(known: Mapping[Value, Any], atom: Atom) -> Any:
    if not isinstance(atom, Literal):
        return known[atom]
    return (np.real(atom.value), np.imag(atom.value)) if is_complex(atom) else atom.value


def _done(node: Node, known: Mapping[Value, Any]) -> Sequence[Any]:
    given = [_of(known, each) for each in node.inputs]
    if not any(isinstance(each, tuple) for each in given) and not any(
        map(is_complex, node.outputs)
    ):
        return node.apply(given)
    rule = _RULES.get(node.name)
    if rule is None:
        raise Refused(f"{node.name} of complex numbers")
    return [rule(node, given)]


def _mul(node: Node, given: list[Any]) -> Pair:
    (a, b), (c, d) = given
    return a * c - b * d, a * d + b * c


def _each(node: Node, given: list[Any]) -> Pair:
    """Real and imaginary parts on their own."""
    parts = [each if isinstance(each, tuple) else (each, each) for each in given]
    function = _OF_EACH[node.name]
    real, imaginary = (function(*[part[k] for part in parts]) for k in (0, 1))
    return real, imaginary


_OF_EACH: Mapping[str, Callable[..., Any]] = {
    "add": jnp.add,
    "add_any": jnp.add,
    "sub": jnp.subtract,
    "neg": jnp.negative,
}


def _moved(node: Node, given: list[Any]) -> Pair:
    """What only moves elements."""
    ((real, imaginary),) = given
    params = node.params
    if node.name == "broadcast_in_dim":
        to = tuple(int(axis) for axis in params["broadcast_dimensions"])
        made = [lax.broadcast_in_dim(e, node.output.shape, to) for e in (real, imaginary)]
    elif node.name == "transpose":
        made = [lax.transpose(e, params["permutation"]) for e in (real, imaginary)]
    else:
        made = [jnp.reshape(e, node.output.shape) for e in (real, imaginary)]
    return made[0], made[1]


def _converted(node: Node, given: list[Any]) -> Any:
    (each,) = given
    real = each[0] if isinstance(each, tuple) else each
    if not is_complex(node.output):
        return real.astype(node.output.dtype)
    dtype = _part(node.output).dtype
    imaginary = each[1] if isinstance(each, tuple) else jnp.zeros_like(real)
    return jnp.asarray(real).astype(dtype), jnp.asarray(imaginary).astype(dtype)


_RULES: Mapping[str, Callable[[Node, list[Any]], Any]] = {
    "mul": _mul,
    **dict.fromkeys(_OF_EACH, _each),
    **dict.fromkeys(("broadcast_in_dim", "transpose", "reshape", "squeeze", "expand_dims"), _moved),
    "convert_element_type": _converted,
    "real": lambda node, given: given[0][0],
    "imag": lambda node, given: given[0][1],
    "conj": lambda node, given: (given[0][0], -given[0][1]),
    "complex": lambda node, given: (given[0], given[1]),
    "copy": lambda node, given: given[0],
    "select_n": lambda node, given: (
        lax.select_n(given[0], *(each[0] for each in given[1:])),
        lax.select_n(given[0], *(each[1] for each in given[1:])),
    ),
}
