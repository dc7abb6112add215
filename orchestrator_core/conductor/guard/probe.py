"""Numeric probe: a rewritten program against the original, on the arrays of a call and on random
ones like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from orchestrator_core.conductor.guard.differences import difference
from orchestrator_core.conductor.guard.inputs import like
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph


class Probe:
    """Args: graph: the original, which runs once for each input and no more."""

    def __init__(self, graph: Graph, arrays: Sequence[Any]) -> None:
        self._inputs = [list(arrays), like(arrays)]
        run = jax.jit(lambda *each: evaluate(graph, each))
        self._expected = [run(*inputs) for inputs in self._inputs]

    def refutes(self, graph: Graph) -> str | None:
        """In words, how another graph is not the same function; None if nothing shows that."""
        run = jax.jit(lambda *each: evaluate(graph, each))
        try:
            for inputs, expected in zip(self._inputs, self._expected, strict=True):
                said = difference(expected, run(*inputs))
                if said is not None:
                    return said
        except Exception as error:  # one that cannot even run is refuted
            return f"{type(error).__name__}: {error}"
        return None
