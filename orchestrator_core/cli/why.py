"""`orchestrator why`: where a task was planned and ran, and what another place would have cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator_core.cli.found import Flow, Json, Run, StoreUrl

if TYPE_CHECKING:
    from orchestrator_core.costs.instance import Instance
    from orchestrator_core.execute.record import RunRecord
    from orchestrator_core.store.base import Store


def why(
    run: Run,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's name, or how it begins.")],
    flow: Flow = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Explain one task of a run.

    Why it was where it was and when it was, whether it was critical, and by how much the run would
    have been longer with it on the next best worker. For a cluster at work: `live why`.
    """
    from orchestrator_core.cli import why_view
    from orchestrator_core.cli.console import working
    from orchestrator_core.cli.found import find_run, reading
    from orchestrator_core.report.why.answer import task_named
    from orchestrator_core.report.why.answer import why as answer_why

    with reading(store) as opened:
        record = find_run(opened, run, flow)
        name = task_named(record, task)
        instance, trouble = _priced(opened, record)
    with working(f"planning with {name} elsewhere"):
        answer = answer_why(record, name, instance, trouble)
    (why_view.show_json if as_json else why_view.show)(answer)


def _priced(store: Store, run: RunRecord) -> tuple[Instance | None, str]:
    """The run's instance; else None, and why there is none."""
    from orchestrator_core.cli.console import remark
    from orchestrator_core.cli.prices import prices_of
    from orchestrator_core.errors import OrchestratorError
    from orchestrator_core.plan.warm import compile_once

    if run.plan is None:
        return None, ""
    try:
        instance = prices_of(store, run).instance
    except OrchestratorError as error:
        return None, str(error)
    compile_once(remark)
    return instance, ""
