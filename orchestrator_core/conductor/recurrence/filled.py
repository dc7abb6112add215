"""Filled: an array that a loop carries and fills slice by slice."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom
from orchestrator_core.conductor.recurrence.run import Run


@dataclass(frozen=True)
class Part:
    """What each step writes, in which places, or adds to what is there."""

    run: Run
    slice: Atom
    is_added: bool


@dataclass(frozen=True)
class Filled:
    """A carry that is filled.

    Attributes:
        place: among the carries. parts: what each step writes, in order. reads: nodes of the body
            that read the slice, in the places of the parts, before anything is written to it.
    """

    place: int
    parts: tuple[Part, ...]
    reads: tuple[Node, ...] = ()
