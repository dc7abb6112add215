"""Row: a workload in a variant, several pairs of runs."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.live.run import Outcome
from tests.benchmarks.live.variants import Variant
from tests.benchmarks.live.workload import Workload

Pair = tuple[Outcome, Outcome]
"""Plain Dask's run and ours."""

COUNTED = ("replans", "moved", "held", "released", "hung_removed", "faults", "withdrawn")
"""Of `execute.dask.counters`."""


@dataclass(frozen=True)
class Row:
    """The pairs of a workload in a variant; ratios are ours over plain Dask's."""

    variant: Variant
    workload: Workload
    pairs: tuple[Pair, ...]

    @property
    def ratios(self) -> list[float]:
        return [ours.seconds / plain.seconds for plain, ours in self.pairs]

    @property
    def ratio(self) -> float:
        """The median; of the chain, which Dask places by chance, the ratio of the means."""
        if self.workload.name == "chain":
            plain, ours = (
                statistics.fmean(pair[side].seconds for pair in self.pairs) for side in (0, 1)
            )
            return ours / plain
        return statistics.median(self.ratios)

    @property
    def errors(self) -> list[float]:
        """Of each run whose plan was followed: |predicted / actual - 1| of its makespan."""
        return [
            abs(record.plan.predicted / record.seconds - 1)
            for _, ours in self.pairs
            if (record := ours.record) is not None
            and record.plan is not None
            and record.plan.adopted
            and record.seconds > 0
        ]

    @property
    def default_errors(self) -> list[float]:
        """Of each planned run: what plain Dask was believed to take, over what it took, less 1."""
        return [
            record.plan.default_predicted / plain.seconds - 1
            for plain, ours in self.pairs
            if (record := ours.record) is not None
            and record.plan is not None
            and record.plan.default_predicted is not None
        ]

    @property
    def adopted(self) -> int:
        records = [ours.record for _, ours in self.pairs]
        return sum(each is not None and each.mode == "planned" for each in records)

    @property
    def reasons(self) -> dict[str, int]:
        """Why plans were not followed, and how often."""
        records = [ours.record for _, ours in self.pairs if ours.record is not None]
        return dict(Counter(each.reason for each in records if each.mode != "planned"))

    @property
    def notes(self) -> dict[str, int]:
        records = [ours.record for _, ours in self.pairs if ours.record is not None]
        return dict(Counter(note for each in records for note in each.notes))

    @property
    def counts(self) -> dict[str, float]:
        """How often the plugin did what is told in `COUNTED`, over all runs; zeros left out."""
        sums = {name: sum(ours.counts.get(name, 0) for _, ours in self.pairs) for name in COUNTED}
        return {name: number for name, number in sums.items() if number}

    def side(self, which: str, ours: bool) -> float:
        """Median of an attribute of the outcomes of one side."""
        return statistics.median(float(getattr(pair[ours], which)) for pair in self.pairs)

    def share(self, which: str) -> float:
        """Median ratio of an attribute of the outcomes; nan where plain Dask has none."""
        shares = [
            getattr(ours, which) / getattr(plain, which)
            for plain, ours in self.pairs
            if getattr(plain, which) > 0
        ]
        return statistics.median(shares) if shares else float("nan")

    @property
    def goal(self) -> float:
        return self.variant.goal_of(self.workload)

    def as_json(self) -> dict[str, Any]:
        plans = [ours.record.plan for _, ours in self.pairs if ours.record and ours.record.plan]
        return {
            "variant": self.variant.name,
            "workload": self.workload.name,
            "tasks": len(self.workload.steps),
            "ratio": self.ratio,
            "ratios": self.ratios,
            "goal": self.goal,
            "plain_seconds": [plain.seconds for plain, _ in self.pairs],
            "our_seconds": [ours.seconds for _, ours in self.pairs],
            "adopted": self.adopted,
            "reasons": self.reasons,
            "notes": self.notes,
            "counts": self.counts,
            "predicted": [plan.predicted for plan in plans],
            "default_predicted": [plan.default_predicted for plan in plans],
            "planning_seconds": [plan.planning_seconds for plan in plans],
            "errors": self.errors,
            "default_errors": self.default_errors,
            "plain_peak_bytes": self.side("managed", False),
            "our_peak_bytes": self.side("managed", True),
            "peak_ratio": self.share("managed"),
            "resident_ratio": self.share("resident"),
        }


def error_summary(rows: Sequence[Row]) -> dict[str, float]:
    """Median and 0.9 quantile of the errors of all followed plans."""
    errors = sorted(error for row in rows for error in row.errors)
    if not errors:
        return {}
    at = min(len(errors) - 1, int(0.9 * len(errors)))
    return {"median": statistics.median(errors), "p90": errors[at], "runs": len(errors)}
