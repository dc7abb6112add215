"""Fused groups: which nodes of a graph XLA computes in one kernel, and which values it stores.

The rule is that of XLA's ``InstructionFusion``, read backwards: a loop is computed inside its
readers if all of them can take it in, unless it is expensive and would be computed twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator_core.conductor.cost import fusion_facts as facts
from orchestrator_core.conductor.cost.flow import Flow
from orchestrator_core.conductor.cost.library import library_groups
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.found_once import found_once
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """One kernel.

    Attributes:
        root: the node whose outputs it stores.
        nodes: all that it computes, the root first; cheap ones are in several groups.
        reads: how many bytes of which stored values, slices being less than the whole.
        is_library: a library computes it, not code that XLA makes.
        works: what nodes do, as far as anybody has asked: of all kernels of a graph, since in one
            of many layers each kernel may compute again what those of all layers before it did.
    """

    root: Node
    nodes: tuple[Node, ...]
    reads: Mapping[Value, float]
    is_library: bool = False
    works: dict[Node, Work] = field(default_factory=dict)


def is_read_in_place(group: Group, value: Value, flow: Flow) -> bool:
    """Is each element of a value read only where one is written, so that this may overwrite it?"""
    order: dict[Value, tuple[int, ...]] = {value: tuple(range(len(value.shape)))}
    for node in reversed(group.nodes):  # from what is read to the root
        inputs = [(node.inputs[k].shape, each) for k, each in flow.inputs(node) if each in order]
        if not inputs:
            continue
        read = [_as_shaped(shape, order[each], each) for shape, each in inputs]
        if node.name == "transpose":
            read = [tuple(each[k] for k in node.params["permutation"]) for each in read]
        elif node.name not in facts.LOOPS or node.name in facts.VIEWS:
            return False
        if any(each != read[0] for each in read):
            return False
        order[node.output] = read[0]
    return order.get(group.root.output) == order[value]


def _as_shaped(shape: Sequence[int], order: tuple[int, ...], base: Value) -> tuple[int, ...]:
    """The order of a value's axes where it is read with another shape, which moves no element: of
    those in their own order again that, of others none."""
    if tuple(shape) == tuple(base.shape):
        return order
    is_own = order == tuple(range(len(order)))
    return tuple(range(len(shape))) if is_own else (-1,) * len(shape)


def groups(graph: Graph, platform: str) -> Sequence[Group]:
    """The kernels of a graph in the graph's order; bodies of loops are not opened."""
    return kernels_of(graph, platform)[1]


@found_once
def kernels_of(graph: Graph, platform: str) -> tuple[Flow, Sequence[Group]]:
    """A graph as XLA sees it, and its kernels."""
    flow = Flow(graph, platform)
    plan = _Plan(flow)
    return flow, tuple(plan.group(node) for node in flow.nodes if node not in plan.inner)


class _Plan:
    """Where each node is computed.

    Attributes:
        library: the root of the library's group in which a node is.
        homes: of a loop that is computed inside its readers, the roots of their groups, and whether
            one of its elements is needed several times there.
        inner: nodes whose results are not stored. Some of `homes` are stored too, for others.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.library = library_groups(flow)
        self.homes: dict[Node, dict[Node, bool]] = {}
        self._indexers: dict[tuple[Node, Node], set[Node]] = {}
        self._copies: dict[tuple[Node, Node], float] = {}
        self._works: dict[Node, Work] = {}
        self._place_of = {node: place for place, node in enumerate(flow.nodes)}
        self.inner = {node for node, root in self.library.items() if node is not root}
        for node in reversed(flow.nodes):
            if facts.is_loop(node, flow.platform) and node not in self.library:
                self._place(node)

    def _place(self, node: Node) -> None:
        takers = [each for each in self.flow.readers[node.output] if self._takes(each)]
        is_all = len(takers) == len(self.flow.readers[node.output])
        is_all = is_all and node.output not in self.flow.returned
        homes = self._homes(node, takers)
        if not homes or not self._may_repeat(node, homes, is_all):
            return
        fitting = {root: again for root, again in homes.items() if self._fits(node, takers, root)}
        if is_all and len(fitting) == len(homes):
            self.inner.add(node)
        if fitting:
            self.homes[node] = fitting

    def _takes(self, reader: Node) -> bool:
        return reader not in self.library and facts.takes_producers(reader, self.flow.platform)

    def _homes(self, node: Node, takers: Iterable[Node]) -> dict[Node, bool]:
        homes: dict[Node, bool] = {}
        for reader in takers:
            again = _reuses(reader, node.output)
            own = {} if reader in self.inner else {reader: False}
            for root, reused in {**own, **self.homes.get(reader, {})}.items():
                homes[root] = homes.get(root, False) or reused or again
        return homes

    def _may_repeat(self, node: Node, homes: Mapping[Node, bool], is_all: bool) -> bool:
        """May it be computed in all these groups? And outside of them too, if these are not all?"""
        readers, platform = self.flow.readers[node.output], self.flow.platform
        if facts.is_expensive(node):
            is_thick = platform == "cpu" and self._arrays(node) > 1
            is_once = is_all and len(homes) == 1 and not any(homes.values())
            return is_once and not (is_thick and len(readers) > 1)
        if facts.is_made_once(node, platform) and max(len(readers), len(homes)) > 1:
            # Two that are nothing else in their kernels each make it for themselves.
            return len(readers) == 2 and homes.keys() == set(readers)
        if self._arrays(node) <= 1:
            return True
        return is_all and not (platform == "cpu" and self._is_parted(node))

    def _is_parted(self, node: Node) -> bool:
        """Does one of several who read it wait for another by way of what is not computed twice?
        That may not come into their kernel before both are in it, and XLA asks that before."""
        waiting = {reader: self._place_of[reader] for reader in self.flow.readers[node.output]}
        last = max(waiting.values())
        open_, seen = [(each, False) for each in waiting], set[tuple[Node, bool]]()
        while open_ and len(waiting) > 1:
            through, is_behind = open_.pop()
            if (through, is_behind) in seen or self._place_of[through] > last:
                continue
            seen.add((through, is_behind))
            if is_behind and through in waiting:
                return True
            readers = [each for value in through.outputs for each in self.flow.readers[value]]
            is_behind |= facts.is_expensive(through) and len(readers) > 1
            open_ += [(each, is_behind) for each in readers]
        return False

    def _arrays(self, node: Node) -> int:
        """How many it reads that are as large as what it makes."""
        whole = [v for _, v in self.flow.inputs(node) if v.size >= node.output.size > 1]
        makers = [self.flow.maker.get(value) for value in whole]
        return sum(m is None or m.name not in facts.SPREADING for m in makers)

    def _fits(self, node: Node, takers: Iterable[Node], root: Node) -> bool:
        """May the code of a kernel contain that of a node? It has a copy for each way in which its
        elements are found."""
        indexers: set[Node] = set()
        for reader in takers:
            if reader is root:
                indexers.add(reader)
            elif root in self.homes.get(reader, ()):
                passes_on = reader.name not in facts.VIEWS
                indexers |= self._indexers[reader, root] if passes_on else {reader}
        copies = sum(self._copies.get((each, root), 1.0) for each in indexers)
        if copies > facts.most_copies(node, self.flow.platform):
            return False
        self._indexers[node, root], self._copies[node, root] = indexers, copies
        return True

    def group(self, root: Node) -> Group:
        nodes: dict[Node, None] = {}
        reads: dict[Value, float] = {}
        open_ = [(root, 1.0)]
        while open_:
            node, part = open_.pop()
            nodes[node] = None
            for position, value in self.flow.read[node]:
                share = part * facts.share_read(node, position)
                maker = self.flow.maker.get(value)
                if maker is None or not self._is_within(maker, node, root):
                    reads[value] = min(value.nbytes, reads.get(value, 0.0) + share * value.nbytes)
                elif maker not in nodes:
                    open_.append((maker, share))
        return Group(root, tuple(nodes), reads, root in self.library, self._works)

    def _is_within(self, maker: Node, reader: Node, root: Node) -> bool:
        """Is it computed where it is read?"""
        if maker in self.library:
            return maker in self.inner
        return root in self.homes.get(maker, ()) and self._takes(reader)


def _reuses(reader: Node, value: Value) -> bool:
    """Does it read an element of this value for more than one of its own?"""
    return reader.name in facts.REUSING and reader.output.size > value.size
