"""`orchestrator report`: one run as a page that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator_core.cli.found import Flow, Json, Run, StoreUrl


def report(
    run: Run,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to; default: orchestrator-<id>.html here."),
    ] = None,
    flow: Flow = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is no report.")
    ] = False,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Write the report of a run.

    One HTML file that loads nothing: planned above actual, critical path, bound and gap.
    """
    from orchestrator_core.cli.console import print_json, results, working
    from orchestrator_core.cli.found import find_run, reading
    from orchestrator_core.cli.report_file import check_writable, write_report

    with working("writing the report"):
        with reading(store) as opened:
            record = find_run(opened, run, flow)
        path = output or Path(f"orchestrator-{record.run_id[:8]}.html")
        check_writable(path, force)
        written = write_report(record, path)
    if as_json:
        print_json({"run_id": record.run_id, "flow": record.flow, "report": str(written)})
    else:
        results().print(written.as_uri(), soft_wrap=True)
