"""`orchestrator diff`: what changed between two runs."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator_core.cli.found import Flow, Json, Run, StoreUrl


def diff(
    before: Run,
    after: Run,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs of different flows too.")
    ] = False,
    flow: Flow = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Compare two runs: how long they took, and what made the difference.

    The kinds of tasks on the critical path with their shares, tasks that moved or changed, workers
    and tasks that came or went. `orchestrator diff last~1 last` compares the newest two.
    """
    from orchestrator_core.cli import diff_view
    from orchestrator_core.cli.found import find_run, reading
    from orchestrator_core.errors import InvalidInput
    from orchestrator_core.report.diff import diff as compare
    from orchestrator_core.report.diff.side import of_one_flow

    with reading(store) as opened:
        first, second = find_run(opened, before, flow), find_run(opened, after, flow)
    if not of_one_flow(first, second) and not anyway:
        same = first.flow == second.flow
        of = [f"{run.flow!r} ({run.origin})" if same else repr(run.flow) for run in (first, second)]
        raise InvalidInput(
            f"run {first.run_id[:8]} is of flow {of[0]} and run {second.run_id[:8]} of "
            f"{of[1]}: their tasks have little to do with each other; "
            "compare them nevertheless with --anyway"
        )
    (diff_view.show_json if as_json else diff_view.show)(compare(first, second))
