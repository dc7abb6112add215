"""`orchestrator config`: each setting, its value here, and who says so."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator_core.cli.found import Json

if TYPE_CHECKING:
    from orchestrator_core.cli.health.check import Check
    from orchestrator_core.settings import Found, Source

PREFECT = "orchestrator_prefect.settings.variables"
"""Home of what Prefect says; by name, because it stands above the command line."""

WIDEST = 40
"""Characters of a value, or of its origin, on one line."""

ROOMY = 96
"""Columns from which on the settings' meanings stand beside their origins."""


def config(
    show_origin: Annotated[
        bool, typer.Option("--show-origin", help="Also show where each value is from.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the settings as they hold here, outside of any flow's code.

    A setting is looked for in the code of a flow (task runner, then decorator), the environment
    (ORCHESTRATOR_...), Dask's configuration, Prefect's variables (orchestrator_...) and
    [tool.orchestrator] of pyproject.toml; the first that says something counts. Only
    ORCHESTRATOR_MODE beats the code.
    """
    from orchestrator_core.cli.console import print_json, remark
    from orchestrator_core.settings import SETTINGS, find

    wrong: list[str] = []
    sources = _sources()
    found = [
        find(setting, sources, lambda error: wrong.append(str(error)))
        for setting in SETTINGS.values()
    ]
    if as_json:
        unknown = [each.found for each in _unread()]
        settings = [_plain(each) for each in found]
        print_json({"settings": settings, "wrong": wrong, "unknown": unknown})
    else:
        _print(found, show_origin)
        for line in _remarks(sources, wrong):
            remark(line)
    if wrong:
        raise typer.Exit(1)


def _remarks(sources: list[Source], wrong: list[str]) -> Iterator[str]:
    from orchestrator_core.settings.pyproject import nearest

    file = nearest()
    if file is not None:
        yield f"pyproject.toml is {file}"
    if all(source.level != "Prefect" for source in sources):
        yield "Prefect was not asked: no server is configured (PREFECT_API_URL), or it cannot start"
    yield from (f"{line}; it is passed over" for line in wrong)
    yield from (f"{each.found}; {each.mend}" for each in _unread())


def _unread() -> list[Check]:
    from orchestrator_core.cli.health.variables import check_names, check_variables

    return [*check_variables(), *check_names()]


def _sources() -> list[Source]:
    from orchestrator_core.settings.dask_config import dask_config
    from orchestrator_core.settings.environment import environment
    from orchestrator_core.settings.pyproject import pyproject

    prefect = _prefect()
    asked = [] if prefect is None else [prefect]
    return [environment(), dask_config(), *asked, pyproject()]


def _prefect() -> Source | None:
    try:
        found: Source | None = importlib.import_module(PREFECT).for_command_line()
    except (ImportError, RuntimeError, ValueError):
        # It is not installed, there is no home, or a file of its own settings cannot be read.
        return None
    return found


def _print(found: list[Found], show_origin: bool) -> None:
    from rich.table import Table

    from orchestrator_core.cli.console import results, toned

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold", max_width=WIDEST)
    if show_origin:
        table.add_column("from", overflow="fold", max_width=WIDEST)
    console = results()
    # In a narrow terminal the meanings would leave no room for what was asked for.
    roomy = console.width >= (ROOMY if show_origin else ROOMY - WIDEST)
    if roomy:
        table.add_column("meaning")
    for each in found:
        # What somebody has set stands out from the defaults.
        style = "bold" if each.where else "dim"
        said = [_short(_shown(each)), *([_origin(each)] if show_origin else [])]
        meaning = [toned(each.setting.meaning, "dim")] if roomy else []
        table.add_row(each.setting.name, *(toned(cell, style) for cell in said), *meaning)
    console.print(table)


def _origin(found: Found) -> str:
    return f"Dask: {found.where}" if found.level == "Dask" else found.where or found.level


def _plain(found: Found) -> dict[str, Any]:
    value = _shown(found) if found.setting.is_secret else found.value
    return {
        "setting": found.setting.name,
        "value": value,
        "level": found.level,
        "where": found.where,
        "meaning": found.setting.meaning,
    }


def _shown(found: Found) -> str:
    from orchestrator_core.cli.found import place_of

    if found.setting.name == "store":
        return place_of(found.value)
    if found.value is None:
        return "–"
    if isinstance(found.value, bool):
        return str(found.value).lower()
    return f"{found.value:g}" if isinstance(found.value, float) else str(found.value)


def _short(value: str) -> str:
    """A path at home as people say it, beginning with ``~``; all else as it is."""
    home = os.path.expanduser("~")  # which is no path where there is no home
    return f"~{value.removeprefix(home)}" if value.startswith(f"{home}/") else value
