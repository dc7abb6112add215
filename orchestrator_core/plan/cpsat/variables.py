"""The variables of the model, each family a value with named parts; times in ticks.

ortools carries no types for its variables and expressions: they are `Any` by these names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from orchestrator_core.plan.cpsat.expand import Expanded

IntVar = Any
BoolVar = Any


@dataclass(frozen=True, slots=True)
class UnitVariables:
    """One unit.

    Attributes:
        present: for each choice, is it taken?
        on: for each worker where it may run, does it run there?
        starts, ends: of each piece; an end may be an expression in the start.
    """

    present: tuple[BoolVar, ...]
    on: dict[int, BoolVar]
    starts: tuple[IntVar, ...]
    ends: tuple[IntVar, ...]

    @property
    def start(self) -> IntVar:
        return self.starts[0]

    @property
    def end(self) -> IntVar:
        return self.ends[-1]


@dataclass(frozen=True, slots=True)
class TransferVariables:
    """The output of a unit on its way to one destination.

    Attributes:
        start, encoded: when encoding begins and ends; where the unit runs at the destination
            itself, both may be its end.
        sent_from: for each source, is it sent from there?
    """

    start: IntVar
    encoded: IntVar
    sent_from: dict[int, BoolVar]


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways in which an occupation may come about: a mode, or an encoding.

    Attributes:
        mode: position among all modes; None for an encoding.
        ticks: its length, > 0.
        taken: is it this one?
        head: ticks before which it does not start. tail: ticks from its end to the makespan.
    """

    mode: int | None
    threads: int
    ticks: int
    taken: BoolVar
    head: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class Occupation:
    """A worker taken by a piece or by an encoding, in one of some ways."""

    interval: Any
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """An occupation takes `demands` of something, in the order of its ways."""

    occupation: Occupation
    demands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Supply:
    """Something of which a worker has `capacity`: threads, or a resource."""

    uses: tuple[Use, ...]
    capacity: int


@dataclass
class Variables:
    """The model under construction and all of its variables.

    Attributes:
        cp: the CP-SAT model.
        makespan: the objective. lower: ticks that it is known to reach.
        units: by unit.
        transfers: by (unit, destination), where a transfer has variables of its own.
        occupations: by worker.
        supplies: what workers have, where it might not be enough.
    """

    cp: Any
    expanded: Expanded
    makespan: IntVar
    lower: int = 0
    units: list[UnitVariables] = field(default_factory=list)
    transfers: dict[tuple[int, int], TransferVariables] = field(default_factory=dict)
    occupations: dict[int, list[Occupation]] = field(default_factory=dict)
    supplies: list[Supply] = field(default_factory=list)

    @cached_property
    def true(self) -> BoolVar:
        """A literal that is always true."""
        return self.cp.new_constant(1)
