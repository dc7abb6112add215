"""What the rows of a set come to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from tests.benchmarks.plan.row import WITHIN, Row


def by_group(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """The sums of each group, and of all rows under "all" if there are several."""
    groups = dict.fromkeys(row.group for row in rows)
    sums = {name: summed_up([row for row in rows if row.group == name]) for name in groups}
    return sums if len(sums) == 1 else {**sums, "all": summed_up(rows)}


def summed_up(rows: Sequence[Row]) -> dict[str, Any]:
    """Counts, geometric means of ratios (> 1: ours is better), gaps in per cent."""
    gaps = sorted(100 * row.gap for row in rows)
    known = [row.over(row.best_known) for row in rows if row.best_known]
    found: dict[str, Any] = {
        "instances": len(rows),
        "proven": sum(row.proven for row in rows),
        "median_gap_percent": statistics.median(gaps),
        "within_2_percent": sum(gap <= 2 for gap in gaps),
        "worst_gap_percent": gaps[-1],
        "median_seconds": statistics.median(row.seconds for row in rows),
        "longest_seconds": max(row.seconds for row in rows),
    }
    for name in ("heft", "saga", "cpsat"):
        ratios = [1 / r for row in rows if (r := row.over(getattr(row, name))) is not None]
        if ratios:
            found[f"{name}_over_ours"] = statistics.geometric_mean(ratios)
            found[f"worse_than_{name}"] = sum(ratio < 1 - WITHIN for ratio in ratios)
    values = [value for value in known if value is not None]
    if values:
        found["mean_gap_to_best_known_percent"] = 100 * (statistics.fmean(values) - 1)
        found["best_known_reached"] = sum(value <= 1 + WITHIN for value in values)
        found["best_known_improved"] = sum(value < 1 - WITHIN for value in values)
    return found
