"""`orchestrator runs`: what ran, what was promised, what it took."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.text import Text

    from orchestrator_core.cli.tables import Column
    from orchestrator_core.store.base import RunSummary


def runs(
    flow: Annotated[
        str | None, typer.Option(help="Only runs of this flow, by its name or file:function.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="How many, the newest first.")] = 20,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="Database; default: `orchestrator db path`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """List runs, the newest first.

    What was promised, what it took, and how far apart they are; of a run that shared its workers
    with others, what they had of the workers' time, since forecasts are for one run at a time. What
    a run of several parts is promised is known when its last part is submitted.
    """
    from orchestrator_core.cli import flows
    from orchestrator_core.cli.console import print_json
    from orchestrator_core.cli.found import reading, searched
    from orchestrator_core.cli.tables import print_table

    with reading(store) as opened:
        found = flows.runs_of(opened, flow, limit)
    if as_json:
        print_json([asdict(run) | {"error": run.error} for run in found])
        return
    of = f" of {flow!r}" if flow else ""
    empty = f"no runs{of} are stored yet in {searched(store)}"
    names = flows.said(found)
    print_table(_columns(), [_row(run, names[run.flow, run.origin]) for run in found], empty)


def _columns() -> list[Column]:
    from orchestrator_core.cli.tables import Column

    return [
        Column("run"),
        Column("flow", elastic=True),
        Column("when", spare=1),
        Column("mode", spare=3),
        Column("tasks", right=True, spare=6),
        Column("predicted", right=True),
        Column("took", right=True),
        Column("error", right=True, spare=2),
        Column("bound", right=True, spare=4),
        Column("cache", spare=5),
        Column("status"),
    ]


def _row(run: RunSummary, flow: str) -> list[str | Text]:
    from orchestrator_core import words
    from orchestrator_core.cli.console import toned

    return [
        run.run_id[:8],
        flow,
        words.ago(run.started_at),
        run.mode,
        f"{run.tasks:,}",
        words.seconds(run.predicted),
        words.seconds(run.seconds),
        toned(_off(run), "dim"),
        words.seconds(run.lower_bound),
        run.cache or "–",
        toned(run.status, "green" if run.status == "ok" else "red"),
    ]


def _off(run: RunSummary) -> str:
    from orchestrator_core import words
    from orchestrator_core.execute.record import SHARED

    if run.predicted and run.others > SHARED:
        return f"others {run.others:.0%}"
    return words.percent(run.error, sign=True)
