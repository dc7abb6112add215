"""One task of a running cluster on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import clean, results
from orchestrator_core.cli.tables import Cell, Column, make_table

Answer = Mapping[str, Any]
BECAUSE = {"input": "its output", "worker": "its worker"}


def show(answer: Answer) -> None:
    """Where it is, where it was planned, and the chain of what it waits for."""
    console = results()
    console.print(Text(clean(answer["key"]), "bold"), soft_wrap=True)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for label, text in _lines(answer):
        table.add_row(f"  {label}", clean(text))
    console.print(table)
    chain = answer["waits_for"]
    if chain:
        console.print()
        console.print(make_table(_columns(), [_row(link) for link in chain], console.width))


def _lines(answer: Answer) -> list[tuple[str, str]]:
    on = f" on {answer['worker']}" if answer["worker"] else ""
    lines = [("state", f"{answer['state']}{on}")]
    if answer["run_id"]:
        when = f"{words.seconds(answer['now'])} after its start"
        lines += [("run", f"{answer['run_id'][:8]}, {answer['flow']}, {when}")]
    lines += [("planned", _planned(answer["planned"]))]
    # A scheduler with an older version of this project does not tell.
    if ran := answer.get("ran"):
        lines += [("ran", _ran(ran))]
    if answer["stage"]:
        until = answer["held_until"]
        held = f", at the latest until {words.seconds(until)}" if until is not None else ""
        lines += [("plan", f"{answer['stage']}{held}")]
    if answer["followed"]:
        lines += [("why", answer["followed"])]
    return lines


def _planned(planned: Answer | None) -> str:
    if planned is None:
        return "nowhere: Dask decides"
    text = f"on {planned['worker']}"
    if planned["start"] is not None:
        text += f" from {words.seconds(planned['start'])} to {words.seconds(planned['end'])}"
    return text if planned["rank"] is None else f"{text}, number {planned['rank']} to start"


def _ran(ran: Answer) -> str:
    text = f"on {ran['worker']} from {words.seconds(ran['start'])} to {words.seconds(ran['end'])}"
    failed = ", and failed" if ran["status"] == "failed" else ""
    return f"{text}{failed}" if ran["attempt"] == 1 else f"{text}{failed}, attempt {ran['attempt']}"


def _columns() -> list[Column]:
    return [
        Column("waits for"),
        Column("task", elastic=True),
        Column("state"),
        Column("on", spare=1),
        Column("planned end", right=True, spare=2),
    ]


def _row(link: Answer) -> list[Cell]:
    return [
        BECAUSE.get(link["because"], link["because"]),
        link["key"],
        link["state"],
        link["worker"] or "–",
        words.seconds(link["planned_end"]),
    ]
