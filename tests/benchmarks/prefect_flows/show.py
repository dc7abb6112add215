"""The table in the terminal, line by line as it is measured, and what it comes to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from tests.benchmarks.prefect_flows.row import Row

HEAD = (
    f"{'flow':<36}{'tasks':>6}{'stock':>8}{'observed':>10}{'planned':>9}{'ratio':>7}"
    f"{'bound':>7}{'first':>7}  errors of the forecasts"
)


def show_head() -> None:
    print(HEAD, flush=True)


def show_row(row: Row) -> None:
    errors = " ".join("none" if e.error is None else f"{100 * e.error:+.1f}%" for e in row.planned)
    print(
        f"{row.name[:35]:<36}{row.tasks:>6}{statistics.median(row.stock[1:]):>8.2f}"
        f"{row.observed:>10.2f}{statistics.median(e.seconds for e in row.planned):>9.2f}"
        f"{row.ratio:>7.2f}{row.possible or math.nan:>7.2f}{row.first:>7.2f}"
        f"  {errors}{'' if row.is_right else '  WRONG'}",
        flush=True,
    )


def sums(rows: Sequence[Row]) -> dict[str, Any]:
    """Over all flows: how much shorter, how true."""
    errors = [abs(row.third_error) for row in rows if row.third_error is not None]
    found = {
        "ratio_geometric_mean": _geometric_mean([row.ratio for row in rows]),
        "possible_geometric_mean": _geometric_mean([row.possible for row in rows if row.possible]),
        "ratio_most": round(max(row.ratio for row in rows), 3),
        "first_run_median": round(statistics.median(row.first for row in rows), 3),
        "third_error_median": round(statistics.median(errors), 4) if errors else None,
        "all_right": all(row.is_right for row in rows),
    }
    print(found, flush=True)
    return found


def _geometric_mean(ratios: Sequence[float]) -> float | None:
    return round(statistics.geometric_mean(ratios), 3) if ratios else None
