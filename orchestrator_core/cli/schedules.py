"""`orchestrator schedules`: the cache of schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from orchestrator_core.cli.tables import Column
    from orchestrator_core.store.base import StoredSchedule


def schedules(
    flow: Annotated[
        str | None, typer.Option(help="Only schedules first planned for this flow.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10**9, help="How many, the last used first.")
    ] = 20,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="Database; default: `orchestrator db path`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """List stored schedules, the last used first.

    What is known, how close to optimal it is, and how often it helped.
    """
    from orchestrator_core.cli.console import print_json
    from orchestrator_core.cli.found import reading, searched
    from orchestrator_core.cli.tables import print_table

    with reading(store) as opened:
        found = opened.schedules(flow=flow, limit=limit)
    if as_json:
        print_json([_entry(stored) for stored in found])
        return
    of = f" for {flow!r}" if flow else ""
    empty = f"no schedules{of} are stored yet in {searched(store)}"
    print_table(_columns(), [_row(stored) for stored in found], empty)


def _columns() -> list[Column]:
    from orchestrator_core.cli.tables import Column

    return [
        Column("graph"),
        Column("cluster", spare=5),
        Column("flow", elastic=True),
        Column("tasks", right=True),
        Column("workers", right=True, spare=3),
        Column("makespan", right=True),
        Column("bound", right=True, spare=1),
        Column("gap", right=True),
        Column("planner", spare=2),
        Column("hits", right=True),
        Column("made", spare=4),
        Column("used"),
    ]


def _row(stored: StoredSchedule) -> list[str]:
    from orchestrator_core import words

    return [
        stored.key.graph_signature[:8],
        stored.key.cluster_signature[:8],
        stored.flow or "–",
        f"{len(stored.schedule):,}",
        str(len(stored.schedule.worker_names)),
        words.seconds(stored.makespan),
        words.seconds(stored.lower_bound),
        words.percent(words.gap_of(stored.makespan, stored.lower_bound)),
        stored.planner,
        str(stored.hits),
        words.ago(stored.created_at),
        words.ago(stored.used_at),
    ]


def _entry(stored: StoredSchedule) -> dict[str, Any]:
    from orchestrator_core import words

    return {
        "graph_signature": stored.key.graph_signature,
        "cluster_signature": stored.key.cluster_signature,
        "objective": stored.key.objective,
        "cost_bucket": stored.key.cost_bucket,
        "flow": stored.flow,
        "tasks": len(stored.schedule),
        "workers": len(stored.schedule.worker_names),
        "makespan_s": stored.makespan,
        "lower_bound_s": stored.lower_bound,
        "bound_method": stored.bound_method,
        "gap": words.gap_of(stored.makespan, stored.lower_bound),
        "planner": stored.planner,
        "hits": stored.hits,
        "created_at": stored.created_at,
        "used_at": stored.used_at,
    }
