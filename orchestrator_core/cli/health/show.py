"""Checks on the screen, or as JSON; the exit code says whether one is bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import typer
from rich.text import Text

from orchestrator_core.cli.console import clean, print_json, results
from orchestrator_core.cli.health.check import Check, Verdict

_MARK = {
    Verdict.GOOD: ("✓", "green"),
    Verdict.WARNING: ("!", "yellow"),
    Verdict.BAD: ("✗", "bold red"),
}


def finish(checks: Sequence[Check], as_json: bool) -> None:
    """Print the checks and exit: 1 if one of them is bad."""
    (_print_as_json if as_json else _print)(checks)
    if any(check.verdict is Verdict.BAD for check in checks):
        raise typer.Exit(1)


def _print_as_json(checks: Sequence[Check]) -> None:
    well = all(check.verdict is not Verdict.BAD for check in checks)
    print_json({"ok": well, "checks": [asdict(check) for check in checks]})


def _print(checks: Sequence[Check]) -> None:
    console = results()
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        mark, style = _MARK[check.verdict]
        line = Text.assemble((f"{mark} ", style), f"{check.name:<{width}}  ", clean(check.found))
        console.print(line, soft_wrap=True)
        if check.mend:
            console.print(Text(f"{'':{width + 4}}→ {clean(check.mend)}", style), soft_wrap=True)
    console.print(_summary(checks))


def _summary(checks: Sequence[Check]) -> Text:
    wrong = sum(check.verdict is Verdict.BAD for check in checks)
    doubtful = sum(check.verdict is Verdict.WARNING for check in checks)
    if wrong:
        return Text(f"\n{wrong} of {len(checks)} must be mended", "bold red")
    if doubtful:
        return Text(f"\nworks; {doubtful} of {len(checks)} could be better", "yellow")
    return Text("\nall is well", "green")
