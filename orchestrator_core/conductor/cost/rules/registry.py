"""Rules by primitive: what a node without a body does. `default` is for those without a rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node

Rule: TypeAlias = Callable[[Node], Work]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Says what primitives of these names do."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def default(node: Node) -> Work:
    """Of a primitive that nobody has thought of: one operation for each element that it makes, and
    each array is moved once."""
    return Work(flops=made(node), nbytes=moved(node))


def work_by_rule(node: Node) -> Work:
    """What a node without a body does, as one kernel."""
    work = RULES.get(node.name, default)(node)
    return dataclasses.replace(work, kernels=1.0) if work.nbytes else work


def words(text: str) -> frozenset[str]:
    """Names of primitives, written one after another."""
    return frozenset(text.split())


def made(node: Node) -> int:
    """Elements that it makes."""
    return sum(output.size for output in node.outputs)


def read(node: Node) -> int:
    """Bytes of what it takes, whatever of it is taken twice."""
    return sum(each.nbytes for each in dict.fromkeys(node.inputs))


def written(node: Node) -> int:
    """Bytes of what it makes."""
    return sum(output.nbytes for output in node.outputs)


def moved(node: Node) -> int:
    """Bytes of what it takes and makes."""
    return read(node) + written(node)
