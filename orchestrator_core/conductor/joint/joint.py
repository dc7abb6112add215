"""A program and its pullback, planned together and cut in two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.joint.handover import Handover
from orchestrator_core.conductor.joint.part import Part
from orchestrator_core.conductor.joint.pullback import with_pullback
from orchestrator_core.conductor.joint.split import Cut, Flags, Inseparable, cut, reached
from orchestrator_core.conductor.joint.zeros import without
from orchestrator_core.conductor.program import Program

MOST_SHOWN = 6
"""Places of inputs that are written out."""


@_jax.held_weakly
@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Joint:
    """Attributes:
    program: whose. moving: which of its inputs are differentiated.
    found: the two graphs. forward: of the inputs: the outputs, then the residuals.
    """

    program: Program
    moving: Flags
    found: Cut
    forward: Part

    def backward(self, given: Flags) -> Part:
        """Of the inputs, the residuals, and cotangents: the cotangents of the inputs that move.

        Args:
            given: which of the smooth outputs have a cotangent that is not zero.
        """
        made: Part = self.program.kept(("part", self.moving, given), lambda: self._make(given))
        return made

    def reached(self, given: Flags) -> Flags:
        """Which inputs that move have a cotangent that depends on any of those."""
        graph = self.found.backward
        known = [False] * (len(graph.inputs) - len(given))
        made: Flags = self.program.kept(
            ("reached", self.moving, given), lambda: reached(graph, [*known, *given])
        )
        return made

    def _make(self, given: Flags) -> Part:
        graph = self.found.backward
        pairs = zip(graph.inputs[len(graph.inputs) - len(given) :], given, strict=True)
        graph = without(graph, {value for value, is_given in pairs if not is_given})
        seen = (True,) * len(self.moving) + (False,) * self.found.kept + (True,) * sum(given)
        outputs = len(graph.outputs)
        handover = self.forward.handover
        return Part(
            graph, lambda: pullback_of(self.program, self.moving, given), seen, outputs, handover
        )


def joint_of(program: Program, moving: Flags) -> Joint | None:
    """The program and its pullback in two parts; None where they cannot be had apart: then the
    pullback is a program of its own, which begins with the forward pass."""
    found: Joint | None = program.kept(("joint", moving), lambda: _make(program, moving))
    return found


def _make(program: Program, moving: Flags) -> Joint | None:
    given = [True] * len(program.cotangent_avals)

    def both(*arrays: Any) -> list[Any]:
        outputs, cotangents = with_pullback(program, moving, given, *arrays)
        return [*outputs, *cotangents]

    avals = [*program.avals, *program.cotangent_avals]
    by = _by(program, moving)
    together = program.other(("together", moving), both, avals, f"with its pullback{by}")
    if together.jaxpr.effects:
        return None
    outputs, goal = len(program.out_avals), program.goal
    objective = goal.objective if goal.memory is None else "memory"
    try:
        found = cut(together.graph, len(moving), outputs, objective)
    except Inseparable:
        return None
    seen = (True,) * len(moving)
    handover = Handover(together.give_up)
    forward = Part(found.forward, lambda: forward_of(program, moving), seen, outputs, handover)
    return Joint(program, moving, found, forward)


def forward_of(program: Program, moving: Flags) -> Program:
    """A program of its own: the outputs as whoever goes back needs them made. Unlike a
    `custom_vjp`, what that does for the way back has a pushforward."""
    none = [False] * len(program.cotangent_avals)

    def forward(*arrays: Any) -> list[Any]:
        return with_pullback(program, moving, none, *arrays)[0]

    what = f"for its pullback{_by(program, moving)}"
    return program.other(("forward", moving), forward, program.avals, what)


def pullback_of(program: Program, moving: Flags, given: Flags) -> Program:
    """A program of its own: of the inputs and of the cotangents that are given."""
    pairs = zip(program.cotangent_avals, given, strict=True)
    avals = [*program.avals, *(aval for aval, is_given in pairs if is_given)]

    def pullback(*arrays: Any) -> list[Any]:
        return with_pullback(program, moving, given, *arrays)[1]

    what = f"its pullback{_by(program, moving)}"
    return program.other(("pull", moving, given), pullback, avals, what)


def _by(program: Program, moving: Flags) -> str:
    """In words, which of the inputs are differentiated; nothing if all are that can be."""
    could = sum(map(_jax.is_smooth, program.avals))
    if sum(moving) == could:
        return ""
    places = [str(place) for place, moves in enumerate(moving) if moves]
    shown = ", ".join(places[:MOST_SHOWN]) + (", ..." if len(places) > MOST_SHOWN else "")
    return f" by {'array' if len(places) == 1 else 'arrays'} {shown} of {len(moving)}"
