"""Who makes and reads each value of a graph, and what follows from that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from orchestrator_core.conductor._jax import is_inexact
from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable, roles
from orchestrator_core.conductor.facts.number_types import is_precise, keeps_all_bits
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.cumulative import CUMULATIVE, FROM_BLOCKS
from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.facts.transfer.ranks import K_LARGEST, LARGEST_NUMBERS
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

_PLAIN = ELEMENTWISE | {"broadcast_in_dim", "transpose", *RESHAPES}
"""Operations that neither look at other elements nor at where an element is."""

EQUALITIES = frozenset({"eq", "ne"})
ORDERS = frozenset({"ge", "gt", "le", "lt"})
JUMPS = frozenset({"ceil", "floor", "is_finite", "rem", "round", "sign"})
"""A last digit may change these, and what is cast to whole numbers or to few bits, by much."""

RUNNING = frozenset({*CUMULATIVE, FROM_BLOCKS})

EXTREMES = frozenset({"reduce_max", "reduce_min", "cummax", "cummin", "sort", "top_k", K_LARGEST})
"""Operations whose results are some of the numbers that they are given."""

PICKS = frozenset(
    {
        "concatenate",
        "dynamic_slice",
        FROM_BLOCKS,
        "gather",
        LARGEST_NUMBERS,
        "optimization_barrier",
        "pad",
        "rev",
        "slice",
    }
)
"""What is found by an extreme may be cut out of a larger array."""


class Dataflow:
    """Facts about one graph.

    Attributes:
        readers: of each value, the nodes and at which places of theirs.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._producer = graph.producer
        self.readers: dict[Value, list[tuple[Node, int]]] = defaultdict(list)
        self._cheap: set[Value] = set()
        self._invariant: dict[tuple[Atom, Spec, Role], bool] = {}
        for node in graph.nodes:
            for place, each in enumerate(node.inputs):
                if isinstance(each, Value):
                    self.readers[each].append((node, place))
            if node.name == "iota" or (node.name in _PLAIN and self._are_cheap(node)):
                self._cheap.update(node.outputs)

    def _are_cheap(self, node: Node) -> bool:
        return all(self.is_cheap(each) for each in node.inputs)

    def node_of(self, atom: Atom) -> Node | None:
        """Who makes it; None of inputs, constants and literals."""
        return None if isinstance(atom, Literal) else self._producer.get(atom)

    @cached_property
    def compared(self) -> frozenset[Value]:
        """Numbers that are compared for equality, or with what is the largest or smallest of them,
        in so many words or by what jumps, and all that they are made of element by element. Made
        twice, they must be the same in every bit."""
        found: set[Value] = set()
        open_ = [each for node in self.graph.nodes for each in self._compared_by(node)]
        while open_:
            atom = open_.pop()
            if isinstance(atom, Literal) or atom in found or not is_inexact(atom.dtype):
                continue
            found.add(atom)
            node = self._producer.get(atom)
            if node is not None and node.name in _PLAIN | RUNNING:
                open_ += node.inputs
        return frozenset(found)

    def _compared_by(self, node: Node) -> Sequence[Atom]:
        if node.name in EQUALITIES or node.name == K_LARGEST:
            return node.inputs
        is_cast = node.name == "convert_element_type" and not is_precise(node.output.dtype)
        is_cast |= node.name == "reduce_precision" and not keeps_all_bits(node)
        jumps = is_cast or node.name in ORDERS or node.name in JUMPS
        return node.inputs if jumps and not self._of_extremes.isdisjoint(node.inputs) else ()

    @cached_property
    def _of_extremes(self) -> frozenset[Atom]:
        """What is made, element by element, of the largest or smallest of other numbers."""
        found: set[Atom] = set()
        for node in self.graph.nodes:
            goes_on = node.name in _PLAIN or node.name in PICKS
            if node.name in EXTREMES or (goes_on and not found.isdisjoint(node.inputs)):
                found.update(node.outputs)
        return frozenset(found)

    def is_asked_later(self, value: Value) -> bool:
        """Are other numbers compared with it, or with some of it?"""
        seen, open_ = set[Value](), [value]
        while open_:
            for node, _ in self.readers[open_.pop()]:
                if node.name in ORDERS or node.name in EQUALITIES:
                    return True
                if (node.name in _PLAIN or node.name in PICKS) and seen.isdisjoint(node.outputs):
                    seen.update(node.outputs)
                    open_ += node.outputs
        return False

    def is_cheap(self, atom: Atom) -> bool:
        """Is it made of positions and literals alone, as masks are?"""
        return isinstance(atom, Literal) or atom in self._cheap

    def is_invariant(self, atom: Atom, spec: Spec, role: Role) -> bool:
        """Is it proven that the value is the same all along the role?"""
        if (atom, spec, role) not in self._invariant:
            self._find_invariant(atom, spec, role)
        return self._invariant[atom, spec, role]

    def _find_invariant(self, atom: Atom, spec: Spec, role: Role) -> None:
        """Of it, and of what it is made of as far as that matters. Without recursion: chains of
        operations may be long."""
        open_ = [(atom, spec, self._made_of(atom, spec, role))]
        while open_:
            atom, spec, made_of = open_[-1]
            known = [self._invariant.get((*each, role)) for each in made_of or ()]
            if made_of is None or False in known or None not in known:
                self._invariant[atom, spec, role] = made_of is not None and all(known)
                open_.pop()
            else:
                ahead = made_of[known.index(None)]
                open_.append((*ahead, self._made_of(*ahead, role)))

    def _made_of(self, atom: Atom, spec: Spec, role: Role) -> list[tuple[Atom, Spec]] | None:
        """What must be the same all along the role, that this be; None if nothing is enough."""
        if isinstance(atom, Literal) or role not in roles(spec):
            return []
        node = self.node_of(atom)
        if node is None or node.name not in _PLAIN:
            return None
        try:
            return list(zip(node.inputs, rule_of(node).back(node, spec), strict=True))
        except Untileable:
            return None
