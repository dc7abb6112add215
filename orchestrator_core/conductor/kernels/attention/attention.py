"""Plain attention, ``softmax(scale * Q K^T) V``, and its gradient, masked by positions or not.

From the exponentials on, all that has the axes of queries and of keys is looked at; each product
that such a thing is part of must be the result or one of its gradients, proven by its terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from orchestrator_core.conductor.facts.axes import Spec, Untileable, roles
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.attention.derivation import Derivation
from orchestrator_core.conductor.kernels.attention.reading import Other, Reading, parts_of
from orchestrator_core.conductor.kernels.attention.softmax import KEYS, Softmax, softmax_of
from orchestrator_core.conductor.kernels.attention.terms import GRADIENT, NEAR, WEIGHTS, Terms

Name: TypeAlias = Literal["out", "q", "k", "v"]

ORDER: tuple[Name, ...] = ("out", "q", "k", "v")


@dataclass(frozen=True)
class Made:
    """Attributes:
    name: the result, or whose gradient it is. node: a product that makes it.
    key: what that makes, and its axes; the one that comes from no query and no key has no role.
    factor: what it is multiplied by.
    """

    name: Name
    node: Node
    key: Key
    factor: float


@dataclass(frozen=True)
class Attention:
    """Attributes:
    v: values. cotangent: of the result; None if no gradient is taken.
    made: all that is made, the result first, if it is.
    """

    softmax: Softmax
    v: Key
    cotangent: Key | None
    made: tuple[Made, ...]


def attentions_of(graph: Graph) -> Iterator[Attention]:
    """All plain attention of a graph. In what a graph computes once more for its gradient there may
    be gradients without a result."""
    reading = Reading(graph)
    for node in graph.nodes:
        softmax = softmax_of(reading, node)
        found = None if softmax is None else _attention(reading, softmax)
        if found is not None:
            yield found


def _attention(reading: Reading, softmax: Softmax) -> Attention | None:
    derivation, made = Derivation(reading, softmax), list[Made]()
    others = dict[Made, Key]()
    for node, place, spec in _products(reading.graph, softmax):
        try:
            found, other = _made(derivation, node, place, spec)
        except (Other, Untileable):
            continue
        made.append(found)
        others[found] = other
    return _whole(derivation, made, others)


def _whole(derivation: Derivation, made: list[Made], others: dict[Made, Key]) -> Attention | None:
    """None unless all are of the same values and of the same gradient of the result."""
    read = {each.name: others[each] for each in reversed(made)}
    v, cotangent = derivation.v or read.get("out"), derivation.cotangent or read.get("v")
    wanted = {"out": v, "v": cotangent}
    kept = [each for each in made if others[each] == wanted.get(each.name, others[each])]
    if v is None or not kept:
        return None
    kept.sort(key=lambda each: ORDER.index(each.name))
    return Attention(derivation.softmax, v, cotangent, tuple(kept))


def _products(graph: Graph, softmax: Softmax) -> Iterator[tuple[Node, int, Spec]]:
    """Products of something that is made of the exponentials and has the axes of queries and keys;
    which operand that is, and how its axes are."""
    value, spec = softmax.exponentials
    specs, work = {value: spec}, [value]
    while work:
        value = work.pop()
        for node in graph.consumers[value]:
            for place in (k for k, each in enumerate(node.inputs) if each is value):
                if node.name == "dot_general":
                    yield node, place, specs[value]
                elif (out := _pairwise(node, place, specs[value], softmax)) is not None:
                    work += [node.output] if node.output not in specs else []
                    specs.setdefault(node.output, out)


def _pairwise(node: Node, place: int, spec: Spec, softmax: Softmax) -> Spec | None:
    """How the axes of a result are; None if they are not those of queries and keys."""
    try:
        out = rule_of(node).forward(node, place, spec).out
    except Untileable:
        return None
    return out if roles(out) >= softmax.pairwise else None


def _made(derivation: Derivation, node: Node, place: int, spec: Spec) -> tuple[Made, Key]:
    """What a product makes, and what the other operand is.

    Raises:
        Other, Untileable: if it is neither the result nor a gradient.
    """
    softmax, reading = derivation.softmax, derivation.reading
    onward = rule_of(node).forward(node, place, spec)
    over_keys = onward.reduced == {KEYS}
    if not (over_keys or onward.reduced == softmax.of_queries):
        raise Other
    if _contracts_more(node, place, spec):
        raise Other
    value = node.inputs[1 - place]
    if not isinstance(value, Value):
        raise Other
    other = reading.origin((value, onward.inputs[1 - place]))
    left = [role for _, role in parts_of(onward.out)]
    wanted = {*softmax.heads, *(softmax.of_queries if over_keys else (KEYS,)), None}
    if len(left) != len(wanted) or {*left} != wanted:
        raise Other
    name, factor = _named(derivation, derivation.terms(node.inputs[place], spec), over_keys, other)
    return Made(name, node, (node.output, onward.out), factor), other


def _contracts_more(node: Node, place: int, spec: Spec) -> bool:
    """Is it summed along an axis that has no role?"""
    axes = Sides.of(node).contracted[place]
    return any(role is None for axis in axes for _, role in spec[axis])


def _named(derivation: Derivation, terms: Terms, over_keys: bool, other: Key) -> tuple[Name, float]:
    """Which result it is, and what it is multiplied by."""
    softmax = derivation.softmax
    factor = terms.factor_of(WEIGHTS)
    if factor is not None:
        name: Name = "out" if over_keys else "v"
        return name, _whole_number(factor)
    factor = terms.factor_of(GRADIENT)
    if factor is None:
        raise Other
    if over_keys and other == softmax.k:
        return "q", _whole_number(factor / softmax.scale)
    if not over_keys and other == softmax.q:
        return "k", _whole_number(factor / softmax.scale)
    raise Other


def _whole_number(factor: float) -> float:
    return 1.0 if abs(factor - 1.0) <= NEAR else factor
