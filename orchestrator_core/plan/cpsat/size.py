"""How large the CP-SAT model of an instance is; what decides is literals and intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance


@dataclass(frozen=True, slots=True)
class Size:
    """Of a model.

    Attributes:
        literals: choices of task instances that have more than one, and for each edge the sources
            from which a delay counts.
        intervals: of pieces on the workers where they may run.
        inputs: outputs that task instances wait for; each instance may wait for thousands.
    """

    literals: int
    intervals: int
    inputs: int = 0

    def within(self, largest: Size) -> bool:
        return (
            self.literals <= largest.literals
            and self.intervals <= largest.intervals
            and self.inputs <= largest.inputs
        )

    def over(self, largest: Size) -> str:
        """Which of them is too large, in words."""
        if self.literals > largest.literals:
            return f"{self.literals} choices and delays; CP-SAT is tried up to {largest.literals}"
        if self.intervals > largest.intervals:
            return f"{self.intervals} intervals; CP-SAT is tried up to {largest.intervals}"
        return f"{self.inputs} inputs; CP-SAT is tried up to {largest.inputs}"


def size_of(instance: Instance) -> Size:
    """An estimate, without making the model."""
    graph = instance.graph
    workers = np.logical_or.reduceat(instance.eligible, graph.mode_ptr[:-1], axis=0).sum(axis=1)
    choices = np.add.reduceat(instance.eligible.sum(axis=1), graph.mode_ptr[:-1])
    literals = int((np.where(choices > 1, choices, 0) * graph.count).sum())
    pieces = np.array([len(graph.checkpoints(t)) + 1 for t in range(len(graph))])
    away = np.where(workers > 1, workers, 0)[graph.producer]
    uses = graph.multiplicity * graph.count[graph.consumer]
    return Size(
        literals=literals + int((away * uses).sum()),
        intervals=int((workers * pieces * graph.count).sum()),
        inputs=int(uses.sum()),
    )
