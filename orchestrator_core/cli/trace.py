"""`orchestrator trace`: one run as a trace for Chrome or Perfetto."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator_core.cli.found import Flow, Json, Run, StoreUrl


def trace(
    run: Run,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to; default: orchestrator-<id>.trace.json."),
    ] = None,
    flow: Flow = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is no trace.")
    ] = False,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Write a run as a trace, for ui.perfetto.dev or chrome://tracing.

    What each worker ran and fetched, below it what was planned, and how many tasks ran at a time.
    """
    from orchestrator_core.cli.console import print_json, results, working
    from orchestrator_core.cli.found import find_run, reading
    from orchestrator_core.cli.report_file import check_writable_trace
    from orchestrator_core.report.trace import write_trace

    with working("writing the trace"):
        with reading(store) as opened:
            record = find_run(opened, run, flow)
        path = output or Path(f"orchestrator-{record.run_id[:8]}.trace.json")
        check_writable_trace(path, force)
        written = write_trace(record, path)
    if as_json:
        print_json({"run_id": record.run_id, "flow": record.flow, "trace": str(written)})
    else:
        results().print(str(written), soft_wrap=True)
        results().print("open it in ui.perfetto.dev or chrome://tracing", style="dim")
