"""Two runs beside each other on the screen, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import clean, print_json, remark, results, toned
from orchestrator_core.cli.tables import Cell, Column, make_table
from orchestrator_core.report.diff import Diff
from orchestrator_core.report.diff.answer import TaskChange
from orchestrator_core.report.diff.kinds import KindChange
from orchestrator_core.report.diff.side import Names
from orchestrator_core.report.gantt import short_kind

MOST_KINDS = 8
MOST_TASKS = 8
MOST_NAMES = 3
MOST_IN_JSON = 1000
"""Tasks that JSON holds, those that changed most."""

SMALL = 0.02
"""Part by which a run may differ from another without a colour."""


def show(found: Diff) -> None:
    """The headline, both runs, the kinds and the tasks that made the difference."""
    console = results()
    console.print(_headline(found), soft_wrap=True)
    console.print(Text.assemble("  ", _verdict(found)), soft_wrap=True)
    console.print()
    _sides(console, found)
    if found.kinds:
        _section(console, "where the difference is")
        rows = [_kind(kind) for kind in found.kinds[:MOST_KINDS]]
        console.print(make_table(_kind_columns(), rows, console.width))
        _more(console, len(found.kinds) - MOST_KINDS, "kind")
    changed = [change for change in found.changes if change.change or change.moved]
    if changed:
        _section(console, "tasks that changed most")
        rows = [_task(change) for change in changed[:MOST_TASKS]]
        console.print(make_table(_task_columns(), rows, console.width))
        _more(console, len(changed) - MOST_TASKS, "task")
    if not found.same_flow:
        remark("note: these are runs of different flows; tasks are compared by their names")


def show_json(found: Diff) -> None:
    """The same for programs; seconds throughout."""
    plain = asdict(found) | {
        "seconds": found.seconds,
        "ratio": found.ratio,
        "moved": found.moved,
        "changes": [asdict(change) for change in found.changes[:MOST_IN_JSON]],
        "changes_left_out": max(0, len(found.changes) - MOST_IN_JSON),
    }
    print_json(plain)


def _headline(found: Diff) -> Text:
    flow = found.before.flow if found.same_flow else f"{found.before.flow} → {found.after.flow}"
    ids = f"  {found.before.run_id[:8]} → {found.after.run_id[:8]}"
    when = f"  {words.ago(found.before.started_at)} → {words.ago(found.after.started_at)}"
    return Text.assemble((clean(flow), "bold"), ids, (when, "dim"))


def _verdict(found: Diff) -> Text:
    if abs(found.seconds) < 1e-9:
        return Text("took as long", "bold")
    longer, ratio = found.seconds > 0, found.ratio
    word = "longer" if longer else "shorter"
    is_small = ratio is not None and abs(ratio - 1) < SMALL
    style = "bold" if is_small else f"bold {'red' if longer else 'green'}"
    text = Text.assemble((f"{words.seconds(abs(found.seconds))} {word}", style))
    if ratio is not None:
        text.append(f" ({words.percent(ratio - 1, sign=True)})")
    # What got shorter has made no run longer, however much it did.
    to_blame = (kind for kind in found.kinds if (kind.path_change > 0) == longer)
    main = next((kind for kind in to_blame if kind.share >= 0.2), None)
    if main is not None:
        text.append(f", {100 * main.share:.0f} % of the change by {clean(_name(main))}")
    return text


def _sides(console: Console, found: Diff) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    table.add_row("", Text("before", "bold"), Text("after", "bold"), "")
    for label, before, after, comment in _rows(found):
        table.add_row(f"  {label}", before, after, Text(clean(comment)))
    console.print(table)


def _rows(found: Diff) -> Iterator[tuple[str, str, str, str]]:
    was, now = found.before, found.after
    change = words.percent(None if found.ratio is None else found.ratio - 1, sign=True)
    yield "took", words.seconds(was.seconds), words.seconds(now.seconds), change
    if was.predicted is not None or now.predicted is not None:
        yield "predicted", words.seconds(was.predicted), words.seconds(now.predicted), ""
        errors = (words.percent(was.error, sign=True), words.percent(now.error, sign=True))
        yield "off by", *errors, "actual against predicted"
        yield "bound", words.seconds(was.lower_bound), words.seconds(now.lower_bound), ""
    yield "mode", was.mode, now.mode, now.reason if was.mode != now.mode else ""
    if was.status != "ok" or now.status != "ok":
        yield "status", was.status, now.status, ""
    yield "work", words.seconds(was.work), words.seconds(now.work), "seconds of all tasks together"
    yield "fetching", words.seconds(was.fetching), words.seconds(now.fetching), ""
    graph = "" if found.same_graph else "the graph is another one"
    told = _names(found.tasks) or graph
    yield "tasks", f"{was.tasks:,}", f"{now.tasks:,}", told
    yield "workers", f"{was.workers:,}", f"{now.workers:,}", _names(found.workers)
    yield "moved", "", f"{found.moved:,}", _routes(found)


def _names(names: Names) -> str:
    """``2 added: a, b; 1 gone: c``."""
    parts = []
    changed = tuple(f"{name} ({what})" for name, what in names.changed)
    for word, those in (("added", names.added), ("gone", names.gone), ("changed", changed)):
        if those:
            more = ", …" if len(those) > MOST_NAMES else ""
            parts.append(
                f"{len(those):,} {word}: {', '.join(map(_short, those[:MOST_NAMES]))}{more}"
            )
    return "; ".join(parts)


def _routes(found: Diff) -> str:
    return ", ".join(f"{n:,} {a} → {b}" for a, b, n in found.routes[:MOST_NAMES])


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def _section(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, "dim"))


def _more(console: Console, hidden: int, noun: str) -> None:
    if hidden > 0:
        console.print(Text(f"and {words.plural(hidden, f'more {noun}')}", "dim"))


def _kind_columns() -> Sequence[Column]:
    return [
        Column("kind", elastic=True),
        Column("tasks", right=True, spare=2),
        Column("mean", right=True, spare=1),
        Column("all work", right=True, spare=3),
        Column("critical path", right=True),
        Column("share", right=True),
    ]


def _kind(kind: KindChange) -> list[Cell]:
    waiting = not kind.kind
    means = f"{words.seconds(kind.mean_before)} → {words.seconds(kind.mean_after)}"
    return [
        toned(_name(kind), "italic") if waiting else _name(kind),
        "" if waiting else _pair(f"{kind.count_before:,}", f"{kind.count_after:,}"),
        "" if waiting else means,
        "" if waiting else _signed(kind.work_after - kind.work_before),
        _toned(kind.path_change),
        f"{100 * kind.share:.0f} %",
    ]


def _name(kind: KindChange) -> str:
    return short_kind(kind.kind) if kind.kind else "waiting"


def _pair(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _signed(seconds: float) -> str:
    if abs(seconds) < 1e-9:
        return "–"
    return f"{'+' if seconds > 0 else '−'}{words.seconds(abs(seconds))}"


def _toned(seconds: float) -> Text:
    style = "" if abs(seconds) < 1e-9 else "red" if seconds > 0 else "green"
    return toned(_signed(seconds), style)


def _task_columns() -> Sequence[Column]:
    return [
        Column("task", elastic=True),
        Column("before", right=True, spare=2),
        Column("after", right=True, spare=2),
        Column("change", right=True),
        Column("worker", spare=1),
    ]


def _task(change: TaskChange) -> list[Cell]:
    route = _pair(_short(change.worker_before), _short(change.worker_after))
    return [
        change.task,
        words.seconds(change.seconds_before),
        words.seconds(change.seconds_after),
        _toned(change.change),
        route,
    ]
