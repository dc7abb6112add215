"""How the body of a loop depends on what it carries, by dataflow.

Carries that need each other in a circle are one system; to a system, whatever other systems carry
is known. A system is of one of these kinds:

    FREE        what is carried on does not depend on it
    LINEAR      ``A c + b``; elementwise if A only scales each element
    TROPICAL    ``max(c + a, b)``, or min for max
    LOG_LINEAR  ``log(A exp(c) + b)``, in whatever way it is stabilised
    NONE        anything else

where A, a and b do not depend on the system.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value


class Kind(enum.Enum):
    FREE = "known without it"
    LINEAR = "affine"
    TROPICAL = "affine in max-plus"
    LOG_LINEAR = "affine in log space"
    NONE = "not affine"


@dataclass(frozen=True)
class Broken:
    """A value of no kind. `node`: the first operation that is to blame."""

    node: Node


Fact: TypeAlias = Any
"""Of a value: None if it is free, a `Broken`, or what the domain knows of it."""

Rule: TypeAlias = Callable[[Node, Sequence[Fact]], Fact]
"""The fact of a node's only result, from those of its inputs, of which at least one is not None.
Returns a `Broken` if nothing is known."""


class Domain(Protocol):
    """What can be proven of values.

    Attributes:
        kind: of systems that are proven in it.
    """

    kind: Kind

    def seed(self, carry: Value) -> Fact: ...

    def rule(self, node: Node) -> Rule | None: ...

    def proves(self, fact: Fact, carry: Value) -> bool: ...

    def is_elementwise(self, fact: Fact, carry: Value) -> bool: ...


@dataclass(frozen=True)
class System:
    """Attributes:
    carries: their places among all. broken: of kind NONE, the operation that is to blame.
    is_elementwise: does each element of what is carried depend only on that same element?
    """

    carries: tuple[int, ...]
    kind: Kind
    is_elementwise: bool = True
    broken: Node | None = None


@dataclass(frozen=True)
class Loop:
    """What a step is given of each carry, and what it hands on, as the body knows them."""

    body: Graph
    given: tuple[Value, ...]
    handed: tuple[Atom, ...]


@dataclass(frozen=True)
class Circle:
    """Carries that need each other in a circle.

    Attributes:
        carries: their places among all. nodes: in order, those that take part in the circle: what
            a carry of it reaches and what reaches one.
    """

    carries: tuple[int, ...]
    nodes: tuple[Node, ...]


def systems(loop: Loop, domains: Sequence[Domain]) -> list[System]:
    """All systems of a loop, each of the first kind that is proven."""
    return [_system(loop, circle, domains) for circle in circles(loop)]


def circles(loop: Loop) -> list[Circle]:
    """The strong components of carries and operations, where each carry needs what the step before
    has handed on; in the order of their first carries."""
    size, nodes = len(loop.given), loop.body.nodes
    place: dict[Atom, int] = {value: k for k, value in enumerate(loop.given)}
    for k, node in enumerate(nodes, size):
        place.update(dict.fromkeys(node.outputs, k))
    ways = [(each, k) for k, node in enumerate(nodes, size) for each in node.inputs]
    ways += [(each, k) for k, each in enumerate(loop.handed)]
    pairs = {(place[each], k) for each, k in ways if isinstance(each, Value) and each in place}
    label = _components(size + len(nodes), sorted(pairs))
    members = defaultdict[int, list[Node]](list)
    for node, at in zip(nodes, label[size:], strict=True):
        members[at].append(node)
    carries = defaultdict[int, list[int]](list)
    for k, at in enumerate(label[:size]):
        carries[at].append(k)
    return [Circle(tuple(found), tuple(members[at])) for at, found in carries.items()]


def _components(size: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Of a graph with these edges, the strong component of each vertex."""
    source, target = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    there = csr_array((np.ones(len(pairs), np.int8), (source, target)), shape=(size, size))
    _, label = connected_components(there, connection="strong")
    found: list[int] = label.tolist()
    return found


def _system(loop: Loop, circle: Circle, domains: Sequence[Domain]) -> System:
    carries = circle.carries
    seeds = [loop.given[k] for k in carries]
    ends = [loop.handed[k] for k in carries]
    broken: Node | None = None
    for domain in domains:
        known = facts(circle.nodes, domain, {seed: domain.seed(seed) for seed in seeds})
        found = [_of(known, end) for end in ends]
        if all(fact is None for fact in found):
            return System(carries, Kind.FREE)
        pairs = list(zip(found, seeds, strict=True))
        if all(fact is None or domain.proves(fact, seed) for fact, seed in pairs):
            plain = all(fact is None or domain.is_elementwise(fact, seed) for fact, seed in pairs)
            return System(carries, domain.kind, plain)
        to_blame = [fact.node for fact in found if isinstance(fact, Broken)]
        broken = broken or next(iter(to_blame), None)
    return System(carries, Kind.NONE, False, broken)


def facts(nodes: Sequence[Node], domain: Domain, seeds: Mapping[Value, Fact]) -> dict[Value, Fact]:
    """Of all values that these make and that are not free."""
    known = dict(seeds)
    for node in nodes:
        given = [_of(known, each) for each in node.inputs]
        if any(fact is not None for fact in given):
            fact = _fact(domain, node, given)
            known.update(dict.fromkeys(node.outputs, fact))
    return known


def _fact(domain: Domain, node: Node, given: Sequence[Fact]) -> Fact:
    rule = domain.rule(node)
    if rule is not None and len(node.outputs) == 1:
        return rule(node, given)
    return next((fact for fact in given if isinstance(fact, Broken)), Broken(node))


def _of(known: Mapping[Value, Fact], atom: Atom) -> Fact:
    return None if isinstance(atom, Literal) else known.get(atom)
