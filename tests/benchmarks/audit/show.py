"""The audit as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

COUNTS = ("instances", "planned", "infeasible", "not found", "oracle gave up", "violations")


def show(found: dict[str, Any]) -> None:
    """A line for each source, objective and constraint and for all, then what is wrong."""
    heads = ("", *(name.replace(" ", "\n") for name in COUNTS), "optimal", "proven", "worst\ngap")
    table = Table(*heads)
    for group in ("by_source", "by_objective", "by_constraint"):
        for name, row in found[group].items():
            _add(table, name, row)
        table.add_section()
    _add(table, "all", found["all"])
    console = Console(width=120)
    console.print(table)
    for violation in found["violations"]:
        console.print(violation, markup=False)


def _add(table: Table, name: str, row: dict[str, Any]) -> None:
    counts = (str(row.get(count, 0)) for count in COUNTS)
    parts = (_part(row, count) for count in ("optimal", "proven"))
    gap = f"{row['worst_gap']:.1%}" if "worst_gap" in row else "-"
    table.add_row(name, *counts, *parts, gap + (" *" if row["above_zero"] else ""))


def _part(row: dict[str, Any], count: str) -> str:
    return f"{row.get(count, 0) / row['compared']:.1%}" if row["compared"] else "-"
