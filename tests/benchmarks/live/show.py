"""The table in the terminal, line by line as it is measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tests.benchmarks.live.row import Row, error_summary

HEAD = (
    f"{'variant':<13}{'workload':<32}{'tasks':>6}{'plain':>8}{'ours':>8}{'ratio':>7}{'least':>7}"
    f"{'most':>7}{'goal':>6}  {'plan':>5}{'error':>7}{'Dask':>7}{'MB':>6}{'peak':>6}{'RSS':>6}"
)
"""Seconds; ours over plain (median, of the chain means); plans followed; error of the forecast of
our run and of plain Dask's; megabytes that workers held at most under plain Dask, the ratio of
that, and of the growth of their processes."""


def show_head() -> None:
    print(HEAD, flush=True)


def show_row(row: Row) -> None:
    ratios = row.ratios
    missed = "  " if row.ratio <= row.goal else " !"
    print(
        f"{row.variant.name:<13}{row.workload.name[:31]:<32}{len(row.workload.steps):>6}"
        f"{row.side('seconds', False):>8.2f}{row.side('seconds', True):>8.2f}{row.ratio:>7.2f}"
        f"{min(ratios):>7.2f}{max(ratios):>7.2f}{row.goal:>6.2f}{missed}"
        f"{row.adopted:>3}/{len(ratios)}{_percent(row.errors)}{_percent(row.default_errors)}"
        f"{row.side('managed', False) / 1e6:>6.0f}{row.share('managed'):>6.2f}"
        f"{row.share('resident'):>6.2f}",
        flush=True,
    )
    if row.counts:
        print("    " + ", ".join(f"{number:g} {name}" for name, number in row.counts.items()))
    for what in (row.reasons, row.notes):
        for text, count in what.items():
            print(f"    {count} x {text}", flush=True)


def show_sums(rows: Sequence[Row]) -> None:
    print()
    for name in dict.fromkeys(row.variant.name for row in rows):
        own = [row for row in rows if row.variant.name == name]
        for group in dict.fromkeys(row.workload.group for row in own):
            ratios = [row.ratio for row in own if row.workload.group == group]
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"{name}, {group}: geometric mean {mean:.3f}, worst {max(ratios):.2f}")
        errors = error_summary(own)
        if errors:
            print(
                f"{name}: error of the predicted makespan {100 * errors['median']:.1f} % in the "
                f"median, {100 * errors['p90']:.1f} % at p90, {errors['runs']:.0f} runs"
            )


def _percent(errors: Sequence[float]) -> str:
    return f"{100 * statistics.median(errors):>6.0f}%" if errors else f"{'-':>7}"
