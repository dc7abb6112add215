"""`orchestrator db`: the database of schedules and runs."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Find, check and upgrade the database.", no_args_is_help=True)

Url = Annotated[
    str | None,
    typer.Option(
        "--db", "--store", metavar="URL", help="URL or path; default: `orchestrator db path`."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]


@app.command()
def path(as_json: Json = False) -> None:
    """Show where the database is.

    `ORCHESTRATOR_DB`, or a file in the user's data directory.
    """
    from orchestrator_core.cli.console import print_json, results
    from orchestrator_core.store.location import default_url, masked, sqlite_path

    url = default_url()
    file = sqlite_path(url)
    if as_json:
        print_json({"url": masked(url), "path": None if file is None else str(file)})
    else:
        results().print(str(file or masked(url)), soft_wrap=True)


@app.command()
def upgrade(db: Url = None, as_json: Json = False) -> None:
    """Create the database, or upgrade it to this version."""
    from orchestrator_core.cli.console import print_json, results, working
    from orchestrator_core.store import schema

    with working("upgrading the database"):
        done = schema.upgrade(db)
    if as_json:
        print_json({"revision": schema.HEAD, "done": done})
    else:
        results().print(done, soft_wrap=True)


@app.command()
def check(db: Url = None, as_json: Json = False) -> None:
    """Check the database without changing it.

    Can it be reached, is it current, is it for its owner only?
    """
    from orchestrator_core.cli.health.database import check_database
    from orchestrator_core.cli.health.show import finish

    finish(check_database(db), as_json)
