"""Groups that XLA hands to YNNPACK on a CPU: a reduction, and all around it that YNNPACK knows.

The rule is that of XLA's ``LibraryRewriter``: from the last reduction to the first, a group grows
to whatever only it reads, and to its only reader. So a plain softmax(q k) v is one kernel, whose
scores are nowhere in memory; a mask ends the group, since the library has no ``select``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from orchestrator_core.conductor.cost import fusion_facts as facts
from orchestrator_core.conductor.cost.flow import Flow
from orchestrator_core.conductor.ir.node import Node


def library_groups(flow: Flow) -> dict[Node, Node]:
    """The last node of the group that each node is in; those that are in none are left out."""
    last: dict[Node, Node] = {}
    if flow.platform != "cpu":
        return last
    for node in reversed(flow.nodes):
        if node not in last and facts.starts_library_group(node):
            group = _Group(node, flow, last)
            last.update(dict.fromkeys(group.nodes, group.root))
    return last


class _Group:
    """It grows around a reduction.

    Attributes:
        nodes: those that are in it. root: the only one of them that others may read.
    """

    def __init__(self, start: Node, flow: Flow, taken: Mapping[Node, Node]) -> None:
        self.flow, self.taken = flow, taken
        self.nodes, self.root = {start}, start
        open_ = deque([start])
        while open_:
            node = open_.popleft()
            open_.extend(self._above(node))
            if node is self.root:
                open_.extend(self._below())

    def _above(self, node: Node) -> list[Node]:
        """Whom only this group reads, and who comes into it now."""
        makers = [self.flow.maker[v] for _, v in self.flow.inputs(node) if v in self.flow.maker]
        found = [
            each for each in dict.fromkeys(makers) if self._fits(each) and self._is_alone(each)
        ]
        self.nodes.update(found)
        return found

    def _below(self) -> list[Node]:
        """The only reader of the root, which is the root from now on."""
        readers = self.flow.readers[self.root.output]
        if (
            len(readers) != 1
            or self.root.output in self.flow.returned
            or not self._fits(readers[0])
        ):
            return []
        self.root = readers[0]
        self.nodes.add(self.root)
        return [self.root]

    def _fits(self, node: Node) -> bool:
        is_there = node in self.nodes or node in self.taken
        return not is_there and facts.is_in_library(node)

    def _is_alone(self, node: Node) -> bool:
        return node.output not in self.flow.returned and self.nodes.issuperset(
            self.flow.readers[node.output]
        )
