"""The state of a running cluster on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import clean, results, toned
from orchestrator_core.cli.tables import Cell, Column, print_table

Answer = Mapping[str, Any]
LATE = 0.02
"""Part of the planned time from which lateness is shown in red."""

SOURCES = {"hit": "a stored schedule", "near": "begun from a schedule for other costs"}
"""What a plan is from, by its word for the cache."""

COUNTED = ("placed", "moved", "held", "released", "replans", "hung_removed", "faults")
"""What is told of the plugin's deeds."""


def show(status: Answer) -> None:
    """Mode and workers, then each run, then what has been done so far."""
    console = results()
    console.print(_headline(status))
    if status["withdrawn"]:
        text = f"the plugin has withdrawn, and Dask goes on alone: {status['withdrawn']}"
        console.print(toned(text, "bold red"), soft_wrap=True)
    # A scheduler with an older version of this project does not say.
    if holdup := status.get("holdup"):
        console.print(toned(holdup, "bold red"), soft_wrap=True)
    if not status["runs"]:
        idle = "no run is under way; so far:" if any(_done(status)) else "nothing has run yet"
        console.print(Text(idle, "dim"))
    for run in status["runs"]:
        console.print()
        show_run(console, run)
    console.print()
    counts = zip(COUNTED, _done(status), strict=True)
    said = " · ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts)
    console.print(Text(said, "dim"), soft_wrap=True)


def show_run(console: Console, run: Answer) -> None:
    """One run: its name and how far it is, then its figures."""
    console.print(_run_line(run), soft_wrap=True)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    table.add_column(style="dim", overflow="fold")
    for label, figure, remark in _figures(run):
        table.add_row(f"  {label}", figure, clean(remark))
    console.print(table)
    console.print(Text(f"  {clean(run['reason'])}", "dim"), soft_wrap=True)


def show_workers(workers: Sequence[Answer]) -> None:
    """A table of the workers."""
    columns = [
        Column("worker", elastic=True),
        Column("kind", spare=2),
        Column("threads", right=True, spare=1),
        Column("speed", right=True),
        Column("tasks", right=True),
        Column("status"),
    ]
    print_table(columns, [_worker(each) for each in workers], "no worker is on this cluster")


def _worker(worker: Answer) -> list[Cell]:
    speed = worker["speed"]
    return [
        worker["name"],
        worker["kind"],
        str(worker["threads"]),
        "–" if speed is None else f"{speed:.3g}",
        f"{worker['tasks']:,}",
        toned(worker["status"], "green" if worker["running"] else "red"),
    ]


def _headline(status: Answer) -> Text:
    workers = status["workers"]
    idle = sum(not worker["running"] for worker in workers)
    size = words.plural(len(workers), "worker")
    return Text.assemble(
        ("mode ", "dim"),
        (clean(status["mode"]), "bold"),
        f"  {size}",
        (f", {idle} of them not running" if idle else "", "red"),
    )


def _run_line(run: Answer) -> Text:
    how_far = f"  {run['done']:,} of {words.plural(run['tasks'], 'task')} done"
    state = "ended" if run["closed"] else run["mode"]
    return Text.assemble(
        (clean(run["flow"]), "bold"),
        how_far,
        f" after {words.seconds(run['seconds'])}",
        (f"  {state}, run {run['run_id'][:8]}", "dim"),
    )


def _figures(run: Answer) -> list[tuple[str, Text, str]]:
    """Label, figure, remark."""
    rows: list[tuple[str, Text, str]] = []
    if run.get("late_by") is not None:
        planned = f"planned {words.seconds(run['predicted'])}"
        label = "took" if run["closed"] else "expected end"
        rows += [(label, Text(words.seconds(run["expected_end"]), "bold cyan"), planned)]
        rows += [_late(run)]
    elif "predicted" in run:
        rows += [("planned end", Text(words.seconds(run["predicted"]), "bold"), "")]
    if "lower_bound" in run:
        bound = Text(words.seconds(run["lower_bound"]))
        rows += [("lower bound", bound, "no plan ends earlier at the durations expected")]
        rows += [("Dask alone", Text(words.seconds(run["default_predicted"])), "by simulation")]
        source = SOURCES.get(run["cache"], "planned anew")
        took = words.seconds(run["planning_seconds"])
        rows += [("planner", Text(clean(run["planner"])), f"{source}, in {took}")]
    return rows


def _late(run: Answer) -> tuple[str, Text, str]:
    late, planned = run["late_by"], run["predicted"]
    share = late / planned if planned > 0 else 0.0
    style = "bold red" if share > LATE else "green" if share < -LATE else ""
    label = "ahead by" if share < -LATE else "late by"
    return label, Text(words.seconds(abs(late)), style), f"{words.percent(abs(share))} of the plan"


def _done(status: Answer) -> list[int]:
    """How often the plugin did each of `COUNTED` since it was put there."""
    return [status["counters"][name] for name in COUNTED]
