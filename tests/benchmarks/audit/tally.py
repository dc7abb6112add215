"""What many verdicts come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tests.benchmarks.audit.verdict import Verdict


class Tally:
    """Of some instances."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self.counts: Counter[str] = Counter()
        self.violations: list[str] = []
        self.gaps: list[float] = []
        for verdict in verdicts:
            self._add(verdict)

    def _add(self, verdict: Verdict) -> None:
        self.counts["instances"] += 1
        self.counts[verdict.outcome] += 1
        self.counts["certificates verified"] += verdict.is_certified
        where = f"seed {verdict.seed} ({verdict.source}), {verdict.objective}: "
        self.violations += [where + violation for violation in verdict.violations]
        if verdict.gap is not None:
            self.gaps.append(verdict.gap)
            self.counts["optimal"] += verdict.gap == 0
            self.counts["proven"] += verdict.is_proven

    def as_json(self) -> dict[str, Any]:
        """Of those that were planned and have an optimum: how many are optimal, and known to be,
        the worst gap to an optimum above zero, and how many of an optimum of zero are above it."""
        found: dict[str, Any] = {**self.counts, "violations": len(self.violations)}
        finite = [gap for gap in self.gaps if gap < math.inf]
        found["compared"] = len(self.gaps)
        found["above_zero"] = len(self.gaps) - len(finite)
        if finite:
            found["worst_gap"] = round(max(finite), 4)
        return found


def grouped(
    verdicts: list[Verdict], names_of: Callable[[Verdict], list[str]]
) -> dict[str, dict[str, Any]]:
    """A tally for each name, of the verdicts that have it."""
    names = sorted({name for verdict in verdicts for name in names_of(verdict)})
    return {
        name: Tally(verdict for verdict in verdicts if name in names_of(verdict)).as_json()
        for name in names
    }
