"""What a change would do to a run, on the screen and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from orchestrator_core import words
from orchestrator_core.cli.console import clean, print_json, remark, results, toned
from orchestrator_core.cli.tables import Cell, Column, make_table
from orchestrator_core.plan.result import HINT
from orchestrator_core.report.gantt import short_kind
from orchestrator_core.report.whatif import Change, WhatIf
from orchestrator_core.report.whatif.answer import WorkerLoad

MOST_WORKERS = 16
"""Rows of the table of workers; the busiest then are shown, the rest is counted."""

NOTEWORTHY = 0.01
"""Part that planning anew saves by itself from which on it is told."""


def show(answer: WhatIf) -> None:
    """The change, the verdict, the figures, the workers."""
    console = results()
    console.print(
        Text.assemble(
            (clean(answer.flow), "bold"),
            (f"  run {answer.run_id[:8]}, if ", "dim"),
            (clean(said(answer.change)), "bold"),
        ),
        soft_wrap=True,
    )
    console.print(Text.assemble("  ", verdict(answer)), soft_wrap=True)
    console.print()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for label, figure, comment in _figures(answer):
        table.add_row(f"  {label}", figure, Text(clean(comment)))
    console.print(table)
    console.print()
    console.print(_workers(answer.workers, console.width))
    if len(answer.workers) > MOST_WORKERS:
        console.print(Text(f"and {len(answer.workers) - MOST_WORKERS} more workers", "dim"))
    if answer.by_planning >= NOTEWORTHY:
        remark(
            f"note: planning again saves {_percent(answer.by_planning)} without any change: "
            f"{words.seconds(answer.again)} instead of {words.seconds(answer.before)}"
        )
    for note in answer.notes:
        remark(f"note: {note}")


def show_json(answer: WhatIf) -> None:
    """The same for programs; seconds and fractions throughout."""
    change = answer.change
    plain = asdict(answer) | {
        "change": {
            "add": [{"name": w.name, "kind": w.kind, "speed": w.speed} for w in change.add],
            "remove": change.remove,
            "faster": dict(change.faster),
            "memory": change.memory,
        },
        "saves": answer.saves,
        "saves_at_most": answer.at_most,
        "saves_by_planning": answer.by_planning,
        "optimal": answer.optimal,
    }
    print_json(plain)


def said(change: Change) -> str:
    """The change in words: ``2 gpu are added and w3 is removed``."""
    parts = []
    for kind, count in Counter(worker.kind for worker in change.add).items():
        parts.append(f"{count} {kind} {'is' if count == 1 else 'are'} added")
    if change.remove:
        few = ", ".join(change.remove[:3])
        more = f" and {len(change.remove) - 3} more" if len(change.remove) > 3 else ""
        parts.append(f"{few}{more} {'is' if len(change.remove) == 1 else 'are'} removed")
    parts += [
        f"{short_kind(kind)} is {factor:g}× as fast" for kind, factor in change.faster.items()
    ]
    if change.memory != 1.0:
        parts.append(f"workers have {change.memory:g}× the memory")
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + "".join(parts[-1:])


def verdict(answer: WhatIf) -> Text:
    """``saves 31 %; nothing can save more than 38 %``."""
    most = answer.at_most
    if answer.saves > 0:
        text = Text.assemble("saves ", (_percent(answer.saves), "bold green"))
        limit = f"; nothing can save more than {_percent(most)}"
    elif answer.saves > -0.0005:
        text = Text("saves nothing", "bold")
        limit = f"; nothing can save more than {_percent(max(0.0, most))}"
    else:
        text = Text.assemble("costs ", (_percent(-answer.saves), "bold red"), " more")
        at_least = _percent(-most)
        limit = f"; it cannot cost less than {at_least} more"
        if most >= 0:
            limit = f"; at best it saves {_percent(most)}" if most >= 0.0005 else ""
    return text.append("; no plan does better" if answer.optimal else limit)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.{0 if abs(fraction) >= 0.0995 else 1}f} %"


def _figures(answer: WhatIf) -> Iterator[tuple[str, Text, str]]:
    source = (
        "as the run was planned" if answer.planned_before else "the best plan, without a change"
    )
    yield "before", Text(words.seconds(answer.before)), f"{source}; it took {_took(answer)}"
    kept = answer.planner == HINT
    remark = "by the plan without the change" if kept else f"planned by {answer.planner}"
    yield "then", Text(words.seconds(answer.after), "bold cyan"), remark
    gap = words.gap_of(answer.after, answer.lower_bound)
    proven = "reached: optimal" if answer.optimal else f"within {words.percent(gap)} of it"
    how = f"no plan can be faster (proof: {answer.bound_method}); {proven}"
    yield "bound", Text(words.seconds(answer.lower_bound)), how


def _took(answer: WhatIf) -> str:
    """What the run took, and why that is less than what `orchestrator runs` says."""
    took = words.seconds(answer.took)
    whole = words.seconds(answer.took + answer.lead)
    return took if whole == took else f"{took} from its first start ({whole} from its submission)"


def _workers(loads: Sequence[WorkerLoad], width: int) -> Table:
    columns = [
        Column("worker", elastic=True),
        Column("kind", spare=1),
        Column("busy before", right=True),
        Column("busy then", right=True),
        Column(""),
    ]
    busiest = sorted(range(len(loads)), key=lambda i: (-(loads[i].after or 2.0), i))[:MOST_WORKERS]
    return make_table(columns, [_row(loads[i]) for i in sorted(busiest)], width)


def _row(load: WorkerLoad) -> list[Cell]:
    mark = ""
    if load.before is None:
        mark = "new"
    elif load.after is None:
        mark = "gone"
    return [
        load.name,
        load.kind,
        words.percent(load.before),
        words.percent(load.after),
        toned(mark, "green" if mark == "new" else "red"),
    ]
