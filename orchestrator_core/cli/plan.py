"""`orchestrator plan`: what a run would look like; nothing is executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator_core.cli.effort import Effort
    from orchestrator_core.cli.machines import Machines
    from orchestrator_core.cli.target import FileTarget, FlowTarget

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A workflow file (WfFormat .json, .stg, .sm, .mm, .rcp, JSPLIB, or a graph or "
        "instance of this project; .gz too), or a flow as FILE.py:FLOW or MODULE:FLOW.",
        show_default=False,
    ),
]
Workers = Annotated[
    list[str] | None,
    typer.Option(
        "--workers",
        "-w",
        metavar="KIND[:...]",
        help="Workers, once for each kind: fast:speed=4,count=2,threads=2,memory=8GB,GPU=1; "
        "or a mere number of equal ones. Default: those of the file or of the last run.",
    ),
]


def plan(
    target: Target,
    workers: Workers = None,
    cluster: Annotated[
        Path | None, typer.Option(help="Workers and links from a file that Cluster.to_json wrote.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Of a flow, as JSON or text; once for each. It is followed, not looked up.",
        ),
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of every link, by the second: 100MB.")
    ] = None,
    latency: Annotated[str | None, typer.Option(metavar="TIME", help="Of every link: 1ms.")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="How long to plan. Default: 2, or a stored plan.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of every random choice; plans anew. Default: 0.")
    ] = None,
    planner: Annotated[
        list[str] | None, typer.Option(help="Only this planner; may be given again.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a report (HTML) too.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is no report.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="Database; default: `orchestrator db path`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Plan a workflow file or a flow; nothing is executed.

    Shows who runs what when, and a proven bound. For a flow, tasks and durations are those of its
    earlier runs; its module is imported only where its source does not tell the flow's name. A flow
    that never ran is followed: its module is imported, and its code (no task's) is run with
    stand-ins for all results, in a process of its own where nothing can be written or sent.
    """
    from orchestrator_core.cli import plan_view
    from orchestrator_core.cli.console import remark, working
    from orchestrator_core.cli.dry_run import dry_run
    from orchestrator_core.cli.effort import Effort
    from orchestrator_core.cli.report_file import check_writable, write_report
    from orchestrator_core.plan.warm import compile_once

    machines = _machines(workers, cluster, latency, bandwidth)
    effort = _effort(Effort(seconds, seed, tuple(planner or ())))
    if output is not None:
        check_writable(output, force)
    with working(f"planning {Path(target).name}"):
        asked = _target(target, param or ())
        dry = dry_run(asked, machines, effort, store, lambda: compile_once(remark))
        report = None if output is None else write_report(dry.run, output)
    (plan_view.show_json if as_json else plan_view.show)(dry, report)


def _target(target: str, parameters: Sequence[str]) -> FileTarget | FlowTarget:
    """What was named; parameters that are none, or of no flow, are wrong usage."""
    from orchestrator_core.cli.target import is_flow, read_file

    flow = is_flow(target)
    if not parameters:
        return flow or read_file(target)
    from orchestrator_core.cli.traced import parse_parameters
    from orchestrator_core.errors import InvalidInput

    try:
        if flow is None:
            raise InvalidInput("only a flow has parameters")
        return replace(flow, parameters=parse_parameters(parameters))
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint="'--param'") from None


def _effort(asked: Effort) -> Effort:
    """What was asked for; a budget or a planner that cannot be is wrong usage, said before anything
    is done."""
    from orchestrator_core.errors import InvalidBudget

    try:
        asked.budget  # noqa: B018
    except InvalidBudget as error:
        raise typer.BadParameter(str(error), param_hint="'--seconds'") from None
    if asked.planners:
        _check_planners(asked.planners)
    return asked


def _check_planners(names: Sequence[str]) -> None:
    from orchestrator_core.errors import InvalidInput
    from orchestrator_core.plan.portfolio import choose, registered

    try:
        choose(registered(), names)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint="'--planner'") from None


def _machines(
    workers: list[str] | None, cluster: Path | None, latency: str | None, bandwidth: str | None
) -> Machines:
    """What was typed about workers; whatever is no such thing is wrong usage."""
    from orchestrator_core.cli.machines import Machines
    from orchestrator_core.cli.quantities import parse_bytes, parse_seconds
    from orchestrator_core.cli.workers import parse_workers
    from orchestrator_core.errors import InvalidInput

    if workers and cluster:
        raise typer.BadParameter(
            "give either workers or a cluster, not both", param_hint="'--workers'"
        )
    hint = "--workers"
    try:
        parse_workers(workers or ())
        hint = "--latency"
        delay = None if latency is None else parse_seconds(latency)
        hint = "--bandwidth"
        rate = None if bandwidth is None else parse_bytes(bandwidth)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint=f"'{hint}'") from None
    return Machines(tuple(workers or ()), cluster, delay, rate)
