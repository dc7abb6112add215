"""`orchestrator live`: see and steer a running Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

app = typer.Typer(help="See and steer a running Dask cluster.", no_args_is_help=True)

Address = Annotated[
    str,
    typer.Argument(
        metavar="ADDRESS", help="The scheduler's address, such as tcp://127.0.0.1:8786."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]


@app.command()
def status(address: Address, as_json: Json = False) -> None:
    """Show what runs, when it will end, how late it is."""
    from orchestrator_core.cli.live.status_view import show
    from orchestrator_core.execute.dask import remote

    _answer(address, remote.status, show, as_json)


@app.command()
def workers(address: Address, as_json: Json = False) -> None:
    """List the workers as plans see them: kind, threads, speed."""
    from orchestrator_core.cli.live.status_view import show_workers
    from orchestrator_core.execute.dask import remote

    _answer(address, lambda client: remote.status(client)["workers"], show_workers, as_json)


@app.command()
def gantt(
    address: Address,
    run: Annotated[
        str | None, typer.Option(help="Id of a run, or how it begins; default: the newest.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw the plan of a run and what really happens."""
    from orchestrator_core.cli.live.gantt_view import show
    from orchestrator_core.execute.dask import remote

    _answer(address, partial(remote.gantt, run_id=run), show, as_json)


@app.command()
def why(
    address: Address,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Dask's key of a task, or how it begins.")
    ],
    as_json: Json = False,
) -> None:
    """Explain where a task is, and what it waits for."""
    from orchestrator_core.cli.live.why_view import show
    from orchestrator_core.execute.dask import remote

    _answer(address, partial(remote.why, key=key), show, as_json)


@app.command()
def enable(
    address: Address,
    mode: Annotated[
        str, typer.Option(help="auto, director, restrict or observe (record, plan nothing).")
    ] = "auto",
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Database, as the scheduler sees it; default: its own."),
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="What plans minimise, such as makespan or price,makespan.")
    ] = None,
) -> None:
    """Begin to plan what is submitted from now on."""
    from orchestrator_core.cli.console import remark, results
    from orchestrator_core.execute.dask import remote

    with remote.connect(address) as client:
        added = remote.enable(client, mode=mode, store=store, objective=objective)
        found = remote.status(client)
    as_it_is = "was enabled already, nothing changed (for other options: `disable` first)"
    done = "enabled" if added else as_it_is
    results().print(f"{done}, mode {found['mode']}", soft_wrap=True)
    if holdup := found.get("holdup"):
        remark(f"note: {holdup}")


@app.command()
def disable(address: Address) -> None:
    """Leave the cluster to Dask alone; running tasks run on."""
    from orchestrator_core.cli.console import remark, results
    from orchestrator_core.execute.dask import remote

    with remote.connect(address) as client:
        was_there = remote.is_enabled(client)
        written = remote.disable(client)
    done = "disabled" if was_there else "was not enabled, nothing changed"
    results().print(done, soft_wrap=True)
    if not written:
        remark("note: not all runs were written in time")


def _answer(
    address: str, ask: Callable[[Any], Any], show: Callable[[Any], None], as_json: bool
) -> None:
    """Ask with a client of the scheduler at that address, and show what comes back."""
    from orchestrator_core.cli.console import print_json
    from orchestrator_core.execute.dask import remote

    with remote.connect(address) as client:
        found = ask(client)
    if as_json:
        print_json(found)
    else:
        show(found)
