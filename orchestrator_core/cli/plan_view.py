"""A dry run on the screen, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import clean, print_json, remark, results
from orchestrator_core.cli.dry_run import DryRun
from orchestrator_core.cli.gantt import Palette, draw
from orchestrator_core.cli.lanes import WorkerUse, worker_uses
from orchestrator_core.cli.tables import Cell, Column, make_table
from orchestrator_core.plan.result import PlanStatus

MOST_WORKERS = 20
"""Rows of the table of workers; the busiest are shown, the rest is counted."""

NOTEWORTHY = 0.01
"""Part of a forecast from which on what chance adds to it is told."""


def show(dry: DryRun, report: Path | None) -> None:
    """Headline, workers, chart."""
    from orchestrator_core.report.gantt import short_kinds

    console, uses = results(), worker_uses(dry.instance, dry.result.schedule)
    kinds = short_kinds(dry.instance.graph.kinds)
    console.print(_headline(dry))
    console.print()
    console.print(_figures(dry))
    console.print()
    console.print(_workers(uses, dry.result.makespan, console.width))
    if len(uses) > MOST_WORKERS:
        console.print(Text(f"and {len(uses) - MOST_WORKERS} more workers", "dim"))
    console.print()
    _chart(console, dry, uses, Palette(kinds, uses))
    for note in dry.notes:
        remark(f"note: {note}")
    if report is not None:
        console.print(Text(f"report: {report.as_uri()}"), soft_wrap=True)


def show_json(dry: DryRun, report: Path | None) -> None:
    """The same for programs; seconds throughout."""
    print_json(to_json(dry) | ({"report": str(report)} if report is not None else {}))


def to_json(dry: DryRun) -> dict[str, Any]:
    """What `--json` prints."""
    result = dry.result
    uses = worker_uses(dry.instance, result.schedule)
    return {
        "name": dry.name,
        "tasks": len(dry.instance.graph),
        "predicted_s": dry.predicted,
        "lead_s": dry.lead,
        "makespan_s": result.makespan,
        "lower_bound_s": dry.bound,
        "bound_method": result.bound_method,
        "gap": dry.gap,
        "status": str(result.status),
        "planner": result.planner,
        "reason": result.reason,
        "seconds": result.seconds,
        "cache": dry.cache,
        "notes": dry.notes,
        "workers": [
            {
                "name": use.name,
                "kind": use.kind,
                "threads": use.threads,
                "tasks": use.tasks,
                "busy": _busy(use, result.makespan),
                "last_end_s": use.last_end,
            }
            for use in uses
        ],
        "assignments": [
            {
                "task": row.task,
                "instance": row.instance,
                "worker": row.worker,
                "mode": row.mode,
                "start_s": row.start,
                "end_s": row.end,
            }
            for row in result.schedule.assignments
        ],
    }


def _headline(dry: DryRun) -> Text:
    graph, cluster = dry.instance.graph, dry.instance.cluster
    size = f"{words.plural(graph.n_instances, 'task')} on {words.plural(len(cluster), 'worker')}"
    return Text.assemble(
        (clean(dry.name), "bold"), f"  {size}", ("  dry run: nothing executed", "dim")
    )


def _figures(dry: DryRun) -> Table:
    """Label, figure, remark."""
    result = dry.result
    optimal = result.status is PlanStatus.OPTIMAL
    gap = Text("optimal", "bold green") if optimal else Text(f"≤ {words.percent(dry.gap)}", "bold")
    how = "proven" if optimal else "the plan is at most this far above the best there is"
    source = "stored, from an earlier plan" if dry.cache == "hit" else clean(result.reason)
    rows = [
        ("predicted", Text(words.seconds(dry.predicted), "bold cyan"), _parts(dry)),
        ("bound", Text(words.seconds(dry.bound), "bold"), _proof(result.bound_method)),
        ("gap", gap, how),
        ("planner", Text(clean(result.planner), "bold"), source),
        ("planned in", Text(words.seconds(result.seconds)), f"cache {dry.cache}"),
    ]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    table.add_column(style="dim", overflow="fold")
    for label, figure, comment in rows:
        table.add_row(f"  {label}", figure, comment)
    return table


def _parts(dry: DryRun) -> str:
    """What of the forecast is not the plan: the time before it, and what chance adds to it."""
    chance = dry.predicted - dry.lead - dry.result.makespan
    parts = []
    if dry.lead:
        parts.append(f"{words.seconds(dry.lead)} until the first task, where the chart begins")
    if chance > NOTEWORTHY * dry.predicted:
        parts.append(f"{words.seconds(chance)} because durations vary")
    return f"of which {', '.join(parts)}" if parts else ""


def _proof(method: str) -> str:
    return f"no plan can be faster (proof: {clean(method)})"


def _workers(uses: Sequence[WorkerUse], makespan: float, width: int) -> Table:
    columns = [
        Column("worker", elastic=True),
        Column("kind", spare=2),
        Column("threads", right=True, spare=1),
        Column("tasks", right=True),
        Column("busy", right=True),
        Column("last end", right=True),
    ]
    busiest = sorted(range(len(uses)), key=lambda i: (-uses[i].busy, i))[:MOST_WORKERS]
    return make_table(columns, [_worker_row(uses[i], makespan) for i in sorted(busiest)], width)


def _worker_row(use: WorkerUse, makespan: float) -> list[Cell]:
    return [
        use.name,
        use.kind,
        str(use.threads),
        f"{use.tasks:,}",
        words.percent(_busy(use, makespan)),
        words.seconds(use.last_end) if use.tasks else "–",
    ]


def _busy(use: WorkerUse, makespan: float) -> float:
    """Share of its thread-seconds that a worker works."""
    return use.busy / (use.threads * makespan) if makespan > 0 else 0.0


def _chart(console: Console, dry: DryRun, uses: Sequence[WorkerUse], palette: Palette) -> None:
    result = dry.result
    width = min(console.width, 160)
    since = " after the first start" if dry.lead else ""
    for line in draw(uses, palette, result.makespan, result.lower_bound, width, since):
        console.print(line, no_wrap=True, overflow="crop")
    console.print(palette.legend(width))
