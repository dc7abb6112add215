"""The tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.benchmarks.plan.case import CaseSet
from tests.benchmarks.plan.row import WITHIN, Row

RIGHT = ("n", "w", "ours", "gap", "time", "HEFT", "SAGA", "CP-SAT", "best known")


def show(
    console: Console, chosen: CaseSet, rows: Sequence[Row], sums: dict[str, dict[str, Any]]
) -> None:
    """One table: makespans, by how much the others' are longer, and the sums below."""
    goal = f"; goal: {chosen.goal}" if chosen.goal else ""
    table = Table(title=f"{chosen.title}{goal}", title_justify="left", box=None, pad_edge=False)
    table.add_column("instance", overflow="fold", min_width=24)
    for name in RIGHT:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("by", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)
    for name, total in sums.items():
        head = f"{name}: " if name else ""
        console.print(Text(head + _sentence(total), style="bold"))
    console.print()


def _cells(row: Row) -> list[Text | str]:
    return [
        row.name,
        str(row.tasks),
        str(row.workers),
        f"{row.ours:.6g}",
        Text("optimal", "green") if row.proven else Text(f"{100 * row.gap:.1f} %"),
        f"{row.seconds:.1f} s",
        _beside(row, row.heft),
        _beside(row, row.saga, row.saga_by),
        _beside(row, row.cpsat),
        _beside(row, row.best_known),
        row.planner,
    ]


def _beside(row: Row, other: float | None, by: str = "") -> Text:
    """By how much the other is longer than ours; red where it is shorter."""
    if other is None or row.ours == 0:
        return Text("-", "dim")
    more = other / row.ours - 1
    name = f" {by}" if by else ""
    if abs(more) <= WITHIN:
        return Text(f"={name}", "dim")
    return Text(f"{100 * more:+.1f} %{name}", "red" if more < 0 else "green")


def _sentence(total: dict[str, Any]) -> str:
    parts = [
        f"{total['proven']} of {total['instances']} proven optimal",
        f"gap median {total['median_gap_percent']:.2f} %, worst {total['worst_gap_percent']:.1f} %",
        f"time median {total['median_seconds']:.2f} s, longest {total['longest_seconds']:.2f} s",
    ]
    for name, shown in (("heft", "HEFT"), ("saga", "SAGA"), ("cpsat", "CP-SAT")):
        if f"{name}_over_ours" in total:
            worse = total[f"worse_than_{name}"]
            parts.append(f"{shown}/ours {total[f'{name}_over_ours']:.3f} ({worse} times worse)")
    if "mean_gap_to_best_known_percent" in total:
        parts.append(
            f"best known: {total['mean_gap_to_best_known_percent']:+.2f} % in the mean, "
            f"{total['best_known_reached']} reached, {total['best_known_improved']} improved"
        )
    return "; ".join(parts)
