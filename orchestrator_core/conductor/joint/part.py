"""One of the two parts that a function and its pullback were cut into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.joint.handover import Handover
from orchestrator_core.conductor.joint.split import depending
from orchestrator_core.conductor.program import Program


@_jax.held_weakly
@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Part:
    """What runs is the graph; what it is for derivatives is a program, which knows no residuals:
    it takes those inputs that are not residuals, and gives the outputs that are not.

    Attributes:
        program: asked for only when a derivative is wanted.
        seen: which inputs the program takes. outputs: how many of the outputs, the first, it gives.
        handover: of residuals, between the two parts.
    """

    graph: Graph
    program: Callable[[], Program]
    seen: tuple[bool, ...]
    outputs: int
    handover: Handover = field(default_factory=Handover)

    @property
    def out_avals(self) -> list[Any]:
        return [each.aval for each in self.graph.outputs]

    def run(self, *arrays: Any) -> list[Any]:
        """As it runs now; if that fails, what it is for, and zeros for residuals, which nobody
        reads then."""
        reads = not all(self.seen)
        if self.handover.read() if reads else not self.handover.is_off:
            try:
                return evaluate(self.graph, arrays)
            except Exception as error:
                self.handover.failed(error, hands_on=not reads)
        made = self.program().run(*self.of_program(arrays))
        lacking = self.out_avals[self.outputs :]
        return [*made, *(jax.lax.full(aval.shape, 0, aval.dtype) for aval in lacking)]

    def of_program(self, values: Sequence[Any]) -> list[Any]:
        """Of what belongs to the inputs: what belongs to those of the program."""
        return [each for each, is_seen in zip(values, self.seen, strict=True) if is_seen]

    def batched(self, axes: tuple[int | None, ...], avals: Sequence[Any]) -> tuple[Part, list[Any]]:
        """The same for each element, and along which axes its outputs have the elements.

        The graph stays as it is, so that the residuals of both parts go on to fit.
        """
        which = [value for value, a in zip(self.graph.inputs, axes, strict=True) if a is not None]
        moved = depending(self.graph, which)
        out = [
            0 if k < self.outputs or (isinstance(each, Value) and each in moved) else None
            for k, each in enumerate(self.graph.outputs)
        ]
        graph = read(_jax.trace(jax.vmap(self.run, axes, out), avals))

        def program() -> Program:
            seen_axes, seen_avals = tuple(self.of_program(axes)), self.of_program(avals)
            return self.program().batched(seen_axes, tuple(seen_avals))

        return Part(graph, program, self.seen, self.outputs), out
