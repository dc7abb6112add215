"""Explanations of conducted functions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator_core.conductor.algebra.shorter import shorter
from orchestrator_core.conductor.cost import is_priced, price
from orchestrator_core.conductor.explaining.html import html_of
from orchestrator_core.conductor.explaining.section import Section
from orchestrator_core.conductor.explaining.table import text_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.planning.text import goal_to_plain, made_with, site_to_plain
from orchestrator_core.conductor.program import Program
from orchestrator_core.conductor.site import Price

FORMAT = "orchestrator.conductor.explanation/1"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Prints as a table of 100 columns; a notebook shows it as one.

    Attributes:
        function: its name. device: where it runs. goal: what it is conducted for.
        reason: why it runs as it was; empty if it is conducted.
        sections: the function, and derivatives and batches that were made of it.
    """

    function: str
    device: str
    goal: Goal
    reason: str
    sections: tuple[Section, ...]

    def __str__(self) -> str:
        return text_of(self.function, self.device, self.goal, self.reason, self.sections)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_of(self.function, self.device, self.goal, self.reason, self.sections)

    def to_json(self) -> bytes:
        """The same as JSON."""
        return json.dumps(self.to_plain()).encode()

    def to_plain(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "format": FORMAT,
            "function": self.function,
            "device": self.device,
            "goal": goal_to_plain(self.goal),
            "reason": self.reason,
            "sections": [_section(each) for each in self.sections],
        }


def explanation_of(name: str, goal: Goal, program: Program | None, reason: str) -> Explanation:
    """Of a program and all that was made of it.

    A program whose derivatives ran and which did not run itself is left out.
    """
    device = made_with()["device"]
    if program is None or reason:
        return Explanation(name, device, goal, reason, ())
    ran = [each for each in program.family() if each.is_planned]
    return Explanation(name, device, goal, "", tuple(map(_explained, ran or [program])))


def _explained(program: Program) -> Section:
    planned = program.planned
    before, after = _prices(program) if planned.is_changed else (None, None)
    return Section(
        program.what or "the function",
        planned.sites,
        planned.origin,
        planned.seconds,
        planned.notes,
        before,
        after,
    )


def _prices(program: Program) -> tuple[Price | None, Price | None]:
    """Of the whole, before and after; None if somebody has put in a program that says no price."""
    if not all(is_priced(node) for _, node in program.graph.walk()):
        return None, None
    try:
        # XLA itself leaves out what does nothing, so that is no gain.
        plain, _ = shorter(read(program.jaxpr))
        return price(plain), price(program.graph)
    except Exception:  # a prediction is never worth an error
        return None, None


def _section(section: Section) -> dict[str, Any]:
    return {
        "what": section.what,
        "decided_by": section.origin,
        "planning_s": section.seconds,
        "notes": list(section.notes),
        "before": _price(section.before),
        "after": _price(section.after),
        "sites": [site_to_plain(site) for site in section.sites],
    }


def _price(given: Price | None) -> dict[str, Any] | None:
    return None if given is None else asdict(given)
