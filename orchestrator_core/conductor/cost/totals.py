"""What nodes and graphs do in all: `work_of_node`, `work_of`."""

from __future__ import annotations

import jax

from orchestrator_core.conductor.cost.calls import body_of
from orchestrator_core.conductor.cost.fusion import Group, groups
from orchestrator_core.conductor.cost.fusion_facts import IN_PLACE, is_fused
from orchestrator_core.conductor.cost.loops import work_of_loop
from orchestrator_core.conductor.cost.rules import work_by_rule
from orchestrator_core.conductor.cost.rules.registry import RULES
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.found_once import found_once
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node


def work_of(graph: Graph, platform: str | None = None) -> Work:
    """What a graph does on a platform (``cpu``, ``gpu``, ``tpu``; None for this one): flops, and
    bytes of fused groups. Its `temp_bytes` are those of single nodes; see `liveness.peak`."""
    return _work_of(graph, platform or jax.default_backend())


@found_once
def _work_of(graph: Graph, platform: str) -> Work:
    total = Work()
    for group in groups(graph, platform):
        total = total + work_of_group(group, platform)
    return total


def work_of_group(group: Group, platform: str) -> Work:
    """Of one kernel. What is computed inside it is computed in each group that needs it, and moves
    no bytes."""
    if len(group.nodes) == 1 and not is_fused(group.root):
        return work_of_node(group.root, platform)
    works = group.works
    inner = [
        works[node] if node in works else works.setdefault(node, work_of_node(node, platform))
        for node in group.nodes
    ]
    return Work(
        flops=sum(work.flops for work in inner),
        transcendentals=sum(work.transcendentals for work in inner),
        nbytes=sum(group.reads.values()) + written(group),
        dot_flops=sum(work.dot_flops for work in inner),
        kernels=1,
        calls=sum(work.calls for work in inner),
    )


def written(group: Group) -> int:
    """Bytes that a fused group stores; of an update in place those of the update."""
    root = group.root
    if root.name in IN_PLACE and root.inputs[0] in group.reads:
        return root.inputs[1].nbytes
    return sum(output.nbytes for output in root.outputs)


def work_of_node(node: Node, platform: str | None = None) -> Work:
    """What a node does if nothing is fused with it."""
    platform = platform or jax.default_backend()
    given = node.params.get("work")
    if isinstance(given, Work):
        return given
    if node.bodies:
        return work_of_loop(node, lambda body: work_of(body, platform))
    called = body_of(node)
    if called is not None:
        return work_of(called, platform)
    return work_by_rule(node)


def is_priced(node: Node) -> bool:
    """Is it known what it does? Of what is no operation of JAX it must be said."""
    return bool(node.primitive) or "work" in node.params or node.name in RULES
