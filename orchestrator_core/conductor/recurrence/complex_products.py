"""Matrix products of complex by real numbers, and real parts of complex ones, in real numbers.

Compilers make complex numbers of the real ones first, and compute parts that nobody reads: half of
the multiplications or more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

PARTS: dict[str, Callable[[Any], Any]] = {"real": jnp.real, "imag": jnp.imag}


def in_real_numbers(part: Graph) -> Graph:
    """The same, with such products done so."""
    nodes = [_part_of_product(part, node) or _mixed(part, node) or node for node in part.nodes]
    return pruned(dataclasses.replace(part, nodes=tuple(nodes)))


def _is_complex(atom: Atom) -> bool:
    return bool(jnp.issubdtype(atom.dtype, jnp.complexfloating))


def _maker(part: Graph, atom: Atom, name: str) -> Node | None:
    node = part.producer.get(atom) if isinstance(atom, Value) else None
    return node if node is not None and node.name == name else None


def _as_real(part: Graph, atom: Atom) -> Atom | None:
    """What an operand was before it was made complex."""
    if not _is_complex(atom):
        return atom
    node = _maker(part, atom, "convert_element_type")
    return None if node is None or _is_complex(node.inputs[0]) else node.inputs[0]


def _mixed(part: Graph, node: Node) -> Node | None:
    """A product of a complex and a real matrix."""
    if node.name != "dot_general" or not _is_complex(node.output):
        return None
    real = [_as_real(part, each) for each in node.inputs]
    if (real[0] is None) == (real[1] is None):
        return None
    side = 0 if real[0] is None else 1

    def apply(arrays: Sequence[Any]) -> list[Any]:
        whole, other = arrays
        made = [
            _dot(node, *((take(whole), other) if side == 0 else (other, take(whole))))
            for take in PARTS.values()
        ]
        return [jax.lax.complex(*made).astype(node.output.dtype)]

    inputs = (node.inputs[side], real[1 - side])
    return Node("complex_by_real", inputs, node.outputs, apply, source=node.source)  # type: ignore[arg-type]


def _part_of_product(part: Graph, node: Node) -> Node | None:
    """The real or the imaginary part of a product of two complex matrices."""
    if node.name not in PARTS:
        return None
    dot = _maker(part, node.inputs[0], "dot_general")
    if dot is None or not all(map(_is_complex, dot.inputs)):
        return None
    if any(_as_real(part, each) is not None for each in dot.inputs):
        return None

    def apply(arrays: Sequence[Any]) -> list[Any]:
        (a, b), (c, d) = ((jnp.real(x), jnp.imag(x)) for x in arrays)
        if node.name == "real":
            return [_dot(dot, a, c) - _dot(dot, b, d)]
        return [_dot(dot, a, d) + _dot(dot, b, c)]

    return Node(f"{node.name}_of_product", dot.inputs, node.outputs, apply, source=node.source)


def _dot(node: Node, left: Any, right: Any) -> Any:
    wide = jnp.promote_types(left.dtype, right.dtype)
    return jax.lax.dot_general(
        left.astype(wide),
        right.astype(wide),
        node.params["dimension_numbers"],
        precision=node.params["precision"],
    )
