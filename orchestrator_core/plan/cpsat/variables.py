"""The variables of the model, each family a value with named parts; times in ticks.

ortools carries no types for its variables and expressions: they are `Any` by these names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
        starts, ends: of each piece.
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
class Occupation:
    """Threads of a worker taken for `ticks` > 0, if `present`: by a piece or by an encoding."""

    interval: Any
    present: BoolVar
    ticks: int
    threads: int
    mode: int | None


@dataclass(slots=True)
class Variables:
    """The model under construction and all of its variables.

    Attributes:
        cp: the CP-SAT model.
        makespan: the objective.
        units: by unit.
        transfers: by (unit, destination), where a transfer has variables of its own.
        occupations: by worker.
    """

    cp: Any
    expanded: Expanded
    makespan: IntVar
    units: list[UnitVariables] = field(default_factory=list)
    transfers: dict[tuple[int, int], TransferVariables] = field(default_factory=dict)
    occupations: dict[int, list[Occupation]] = field(default_factory=dict)
