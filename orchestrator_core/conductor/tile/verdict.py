"""What a region gains in tiles."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from orchestrator_core.conductor.cost import price
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.site import Price, Site
from orchestrator_core.conductor.tile.candidate import Candidate
from orchestrator_core.conductor.tile.form import Form
from orchestrator_core.conductor.tile.gain import is_for_time, of_site, refusal_of
from orchestrator_core.conductor.tile.prepared import Prepared

FASTER = 0.95
"""The part of the time that what is timed may take at most."""


@dataclass(frozen=True)
class Verdict:
    """The price of a site as it is and in tiles, and why it stays; empty if it does not.
    `measured`: seconds of both, where they were timed."""

    was: Price | None
    now: Price | None
    why: str
    measured: tuple[float, float] | None = None

    @classmethod
    def pinned(cls, known: Site) -> Verdict:
        return cls(known.before, known.after, "")


@dataclass
class Judge:
    """Of forms that look the same, as those of many layers, only the first is priced."""

    prepared: Prepared
    goal: Goal
    takes_all: bool
    trial: Callable[[Graph, Graph], tuple[float, float] | None]
    _known: dict[Hashable, Verdict] = field(default_factory=dict)

    def verdict(self, candidate: Candidate, form: Form, before: Graph, after: Graph) -> Verdict:
        """Args: before, after: the whole graph without the form and with it."""
        if form.looks not in self._known:
            self._known[form.looks] = self._priced(candidate, form, before, after)
        return self._known[form.looks]

    def _priced(self, candidate: Candidate, form: Form, before: Graph, after: Graph) -> Verdict:
        was, now = (price(self.prepared.at_best(each, self.goal)) for each in (before, after))
        if before is self.prepared.graph:
            # The same in another order, in which XLA may keep and compute less or more: of two
            # prices the higher was nearer to what was seen, which was as long or longer.
            given = price(self.prepared.given_at_best(self.goal))
            was = max(was, given, key=lambda each: each.seconds)
        was, now = of_site(was, now, form)
        why = "" if self.takes_all else self._refusal(candidate, form, was, now)
        return Verdict(was, now, why) if why else self._tried(was, now, before, after)

    def _refusal(self, candidate: Candidate, form: Form, was: Price, now: Price) -> str:
        return refusal_of(
            was,
            now,
            self.goal,
            has_coordinates=candidate.region.has_coordinates,
            has_skews=candidate.rows_of_skews is not None,
            has_runnings=bool(form.blocks),
        )

    def _tried(self, was: Price, now: Price, before: Graph, after: Graph) -> Verdict:
        """What is to gain is timed, if time is what it is for, and if that is possible."""
        if self.takes_all or not is_for_time(was, self.goal):
            return Verdict(was, now, "")
        found = self.trial(self.prepared.whole(before), self.prepared.whole(after))
        if found is None or found[1] <= FASTER * found[0]:
            return Verdict(was, now, "", found)
        why = f"measured: it would take {found[1]:.2g} s, as it is {found[0]:.2g} s"
        return Verdict(was, now, why, found)
