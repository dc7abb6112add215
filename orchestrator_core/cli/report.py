"""`orchestrator report`: one run as a page that needs nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator_core.execute.record import RunRecord
    from orchestrator_core.store.base import Store

LAST = "last"


def report(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run's id, the beginning of one, or `last`.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to; default: orchestrator-<id>.html here."),
    ] = None,
    flow: Annotated[str | None, typer.Option(help="With `last`: of this flow.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is no report.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="Database; default: `orchestrator db path`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Write the report of a run.

    One HTML file that loads nothing: planned above actual, critical path, bound and gap.
    """
    from orchestrator_core.cli.console import print_json, results, working
    from orchestrator_core.cli.report_file import check_writable, write_report
    from orchestrator_core.store.sql import ScheduleStore

    with working("writing the report"):
        with closing(ScheduleStore(store)) as opened:
            record = _find(opened, run, flow)
        path = output or Path(f"orchestrator-{record.run_id[:8]}.html")
        check_writable(path, force)
        written = write_report(record, path)
    if as_json:
        print_json({"run_id": record.run_id, "flow": record.flow, "report": str(written)})
    else:
        results().print(written.as_uri(), soft_wrap=True)


def _find(store: Store, run: str, flow: str | None) -> RunRecord:
    from orchestrator_core.errors import UnknownRun

    if run != LAST:
        return store.run(run)
    newest = store.runs(flow=flow, limit=1)
    if not newest:
        of = f" of {flow!r}" if flow else ""
        raise UnknownRun(
            f"no run{of} is stored yet; run a flow with @optimized_flow, "
            "or look into another database with --store"
        )
    return store.run(newest[0].run_id)
