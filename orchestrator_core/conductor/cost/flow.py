"""A graph as XLA sees it before it fuses: without other names of the same bytes, without what is
computed twice, and with the copies that matrix products need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from functools import cached_property

from orchestrator_core.conductor.cost.fusion_facts import (
    BARRIER,
    holds_barriers,
    is_free,
    merges_across_barriers,
    name_of,
)
from orchestrator_core.conductor.cost.grouped import of_all_pairs
from orchestrator_core.conductor.cost.operand_copies import swapped, with_copies
from orchestrator_core.conductor.cost.simplifying import Simplifier, branch_of
from orchestrator_core.conductor.cost.widening import widened
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value


class Flow:
    """Attributes:
    graph: as it was given. nodes: those that are left of it, producers first.
    waits: for which values a node has to wait that it does not read.
    turned: products that XLA makes of their transposes.
    """

    def __init__(self, graph: Graph, platform: str) -> None:
        self.graph, self.platform = graph, platform
        self.nodes: list[Node] = []
        self.waits: dict[Node, set[Value]] = {}
        self.turned: set[Value | None] = set()
        self._names: dict[Value, Atom] = {}
        self._walls: dict[Value, Node] = {}
        self._seen: dict[Hashable, Node] = {}
        self._simplifier = Simplifier(graph)
        for node in graph.nodes:
            self._take(node)
        self._prune()

    def _take(self, node: Node) -> None:
        if self._turns_product(node):
            self.turned.add(self.base(node.inputs[0]))
            self._rename(node.outputs[0], node.inputs[0])
        elif is_free(node):
            self._rename(node.outputs[0], name_of(node))
        elif node.name == BARRIER:
            for new, old in zip(node.outputs, node.inputs, strict=True):
                self._rename(new, old)
                self._walls[new] = node
        else:
            self._take_simplified(node)

    def _take_simplified(self, node: Node) -> None:
        branch = branch_of(node, self.graph.producer, self.platform)
        same = self._simplifier.same_as(node)
        if branch is not None:
            self._open(node, branch)
        elif same is not None:
            self._rename(node.output, same)
        else:
            for instead in self._simplifier.instead_of(node):
                for copied in with_copies(instead, self._transposition):
                    for grouped in of_all_pairs(copied, self.platform):
                        for each in widened(grouped, self.platform):
                            self._add(each)

    def _open(self, node: Node, branch: Graph) -> None:
        """Takes the nodes of a branch in the place of the choice."""
        for value, atom in zip(branch.inputs, node.inputs[1:], strict=True):
            self._rename(value, atom)
        for each in branch.nodes:
            self._take(each)
        for new, old in zip(node.outputs, branch.outputs, strict=True):
            self._rename(new, old)

    def _turns_product(self, node: Node) -> bool:
        """Does it transpose a matrix product that nobody else reads? Then XLA swaps the factors."""
        source = node.inputs[0] if node.name == "transpose" else None
        if not isinstance(source, Value) or len(self.graph.consumers[source]) > 1:
            return False
        maker = self.graph.producer.get(source)
        return (
            maker is not None
            and maker.name == "dot_general"
            and node.params["permutation"] == swapped(maker)
        )

    def _transposition(self, atom: Atom) -> Node | None:
        """The transposition that makes a value."""
        maker = self.graph.producer.get(atom) if isinstance(atom, Value) else None
        return maker if maker is not None and maker.name == "transpose" else None

    def _prune(self) -> None:
        """Leaves out what only nodes have read that read something else now."""
        needed = set(self.returned)
        kept = []
        for node in reversed(self.nodes):
            if node.effects or not needed.isdisjoint(node.outputs):
                kept.append(node)
                needed.update(value for _, value in self.inputs(node))
        self.nodes = kept[::-1]

    def _rename(self, new: Value, old: Atom) -> None:
        self._names[new] = self._names.get(old, old) if isinstance(old, Value) else old
        if isinstance(old, Value) and old in self._walls:
            self._walls[new] = self._walls[old]

    def _add(self, node: Node) -> None:
        strict = self._key(node, is_walled=True)
        loose = self._key(node, is_walled=not merges_across_barriers(node, self.platform))
        same = self._seen.get(strict) or self._seen.get(loose)
        if same is None:
            self.nodes.append(node)
            self._wait(node)
            self._seen.update({key: node for key in (strict, loose) if key is not None})
            return
        for new, old in zip(node.outputs, same.outputs, strict=True):
            self._rename(new, old)
            if self._seen.get(strict) is None:
                self._walls[new] = node

    def _wait(self, node: Node) -> None:
        """For all that has to be there before a barrier is passed."""
        walls = {self._walls.get(atom) for atom in node.inputs if isinstance(atom, Value)}
        barriers = [wall for wall in walls if wall is not None and wall.name == BARRIER]
        if barriers and holds_barriers(self.platform):
            self.waits[node] = {value for each in barriers for _, value in self.inputs(each)}

    def _key(self, node: Node, *, is_walled: bool) -> Hashable | None:
        """Equal for nodes that compute the same; None if that cannot be said."""
        if node.bodies or node.effects or node.primitive is None:
            return None
        inputs = tuple(self._identity(atom, is_walled) for atom in node.inputs)
        key = (node.name, inputs, tuple(sorted(node.params.items())), is_walled)
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _identity(self, atom: Atom, is_walled: bool) -> Hashable:
        if isinstance(atom, Literal):
            return (str(atom.value), atom.shape, str(atom.dtype))
        behind = self._names.get(atom, atom)
        if isinstance(behind, Literal):
            return self._identity(behind, is_walled)
        return (behind, atom.shape, self._walls.get(atom) if is_walled else None)

    def base(self, atom: Atom) -> Value | None:
        """The value behind a name; None if it is a number written in the program."""
        found = self._names.get(atom, atom) if isinstance(atom, Value) else atom
        return found if isinstance(found, Value) else None

    def inputs(self, node: Node) -> list[tuple[int, Value]]:
        """What a node reads, and at which position."""
        found = [(position, self.base(atom)) for position, atom in enumerate(node.inputs)]
        return [(position, value) for position, value in found if value is not None]

    @cached_property
    def read(self) -> dict[Node, list[tuple[int, Value]]]:
        """The inputs of each node that is left."""
        return {node: self.inputs(node) for node in self.nodes}

    @cached_property
    def maker(self) -> dict[Value, Node]:
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def readers(self) -> defaultdict[Value, list[Node]]:
        """A node that reads a value twice is there once."""
        readers: defaultdict[Value, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for value in dict.fromkeys(value for _, value in self.inputs(node)):
                readers[value].append(node)
        return readers

    @cached_property
    def returned(self) -> set[Value]:
        """What the graph returns."""
        found = (self.base(atom) for atom in self.graph.outputs)
        return {value for value in found if value is not None}
