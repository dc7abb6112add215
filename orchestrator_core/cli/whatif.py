"""`orchestrator whatif`: a run with other workers, more memory or faster tasks, with a bound."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator_core.cli.found import Flow, Json, Run, StoreUrl


def whatif(
    run: Run,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[:COUNT]",
            help="Workers that join, like those of that kind or name; others as "
            "gpu:1:speed=4,memory=16GB.",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="WORKER", help="A worker that goes, or KIND:COUNT.")
    ] = None,
    faster: Annotated[
        list[str] | None, typer.Option(metavar="KIND=2x", help="Tasks of that kind take less.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="2x", help="More memory on every worker.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to plan, in all.")] = 1.0,
    flow: Flow = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Say what a run would gain from other workers, more memory or faster tasks.

    The run is planned again with the change; beside what that saves stands what nothing can save
    more than. Options may be given again, and together. Nothing is executed.
    """
    from orchestrator_core.cli import whatif_view
    from orchestrator_core.cli.changes import Typed, change_of
    from orchestrator_core.cli.console import remark, working
    from orchestrator_core.cli.found import find_run, reading
    from orchestrator_core.cli.prices import prices_of
    from orchestrator_core.plan.budget import Budget
    from orchestrator_core.plan.warm import compile_once
    from orchestrator_core.report.whatif import what_if

    typed = Typed(tuple(add or ()), tuple(remove or ()), tuple(faster or ()), memory)
    if typed == Typed():
        raise typer.BadParameter("say what is to be different: --add, --remove, --faster, --memory")
    with reading(store) as opened:
        record = find_run(opened, run, flow)
        change = change_of(typed, record, opened.clusters())
        prices = prices_of(opened, record, change.add)
    compile_once(remark)
    with working("planning with the change"):
        answer = what_if(prices, change, Budget(seconds))
    (whatif_view.show_json if as_json else whatif_view.show)(answer)
