"""Programs: a function at the shapes and types of one call, as it was and as it runs now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.site import Site


class Program:
    """A function of flat arrays. Derivatives and batches of it are programs of their own.

    Attributes:
        jaxpr: the original, closed. goal: what it was rewritten for.
    """

    def __init__(self, jaxpr: Any, goal: Goal) -> None:
        self.jaxpr, self.goal = jaxpr, goal
        self._others: dict[Any, Program] = {}

    @property
    def avals(self) -> list[Any]:
        """Of what it takes."""
        return list(self.jaxpr.in_avals)

    @property
    def out_avals(self) -> list[Any]:
        return list(self.jaxpr.out_avals)

    @cached_property
    def _result(self) -> tuple[Graph, list[Site]]:
        return rewritten(read(self.jaxpr), self.goal)

    @property
    def graph(self) -> Graph:
        """As it runs now."""
        return self._result[0]

    @property
    def sites(self) -> list[Site]:
        return self._result[1]

    def run(self, *arrays: Any) -> list[Any]:
        """As it runs now."""
        return evaluate(self.graph, arrays)

    def original(self, *arrays: Any) -> list[Any]:
        """As it was."""
        return list(jax.core.eval_jaxpr(*_jax.inner(self.jaxpr), *arrays))

    def other(self, key: Any, function: Any, avals: Sequence[Any]) -> Program:
        """The program of a function that is made of this one's original; made once for each key."""
        if key not in self._others:
            self._others[key] = Program(_jax.trace(function, avals), self.goal)
        return self._others[key]
