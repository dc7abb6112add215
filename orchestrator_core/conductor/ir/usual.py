"""Choices between what is mostly done and what is done instead where numbers are not as usual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.ad_checkpoint import checkpoint_name

from orchestrator_core.conductor.ir.graph import Graph

SELDOM = "orchestrator: seldom"
"""The name of what only an unusual branch makes."""


def chosen_by_use(
    is_usual: Any, usual: Callable[[], Sequence[Any]], seldom: Callable[[], Sequence[Any]]
) -> list[Any]:
    """What either branch makes, of which the second says that it hardly ever runs: whoever asks
    what a program takes mostly asks for the first."""

    mark: Any = checkpoint_name

    def marked() -> list[Any]:
        return [mark(each, SELDOM) for each in seldom()]

    return list(jax.lax.cond(is_usual, lambda: list(usual()), marked))


def is_seldom(branch: Graph) -> bool:
    """Is a branch one that hardly ever runs?"""
    return any(node.name == "name" and node.params["name"] == SELDOM for node in branch.nodes)
