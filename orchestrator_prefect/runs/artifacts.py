"""Artifacts of a flow run: the plan before it, the outcome after it, as Markdown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from zlib import crc32

from prefect.artifacts import create_markdown_artifact

from orchestrator_core.clean_text import clean
from orchestrator_core.execute.record import CACHED, LEFT, PlanRecord, RunRecord
from orchestrator_core.words import plural

SURPRISES = 5
"""So many tasks are named that took much longer or shorter than planned."""

_MEANS_SOMETHING = re.compile(r"[\\`*_\[\]|#~@$]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def publish(what: str, flow: str, markdown: str) -> None:
    """Add an artifact to the current flow run; its key is the same for every run of the flow.

    Raises:
        Exception: whatever talking to the Prefect server meets.
    """
    create_markdown_artifact(
        markdown,
        key=f"orchestrator-{what}-{slug(flow)}",
        description=f"{what.capitalize()} of flow {flow}",
        _sync=True,  # type: ignore[call-arg]
    )


def slug(flow: str) -> str:
    """The name of a flow in a key, which has room for few letters; names in others stay apart."""
    known = re.sub(r"[^a-z0-9]+", "-", flow.lower()).strip("-") or "flow"
    if not any(letter.isalnum() and not letter.isascii() for letter in flow):
        return known
    return f"{known}-{crc32(flow.encode('utf-8', 'replace')):08x}"


def plan_markdown(flow: str, plan: PlanRecord, foreseen: int = 0) -> str:
    """What was planned, how good that is, and who does what; so many of its tasks are foreseen."""
    rows = _by_worker((row.worker, row.start, row.end) for row in plan.schedule.assignments)
    return "\n".join(
        [
            f"# Plan of {escaped(flow)}",
            "",
            f"{'Followed' if plan.adopted else 'Not followed'}: {escaped(plan.reason)}.",
            "",
            *_table(("", ""), [*_tasks(plan, foreseen), *_facts(plan)]),
            "",
            *_table(("worker", "tasks", "busy", "first start", "last end"), rows),
        ]
    )


def outcome_line(run: RunRecord) -> str:
    """One line: what was forecast, what happened; figures of nothing are left out."""
    if run.status != "cancelled" and all(task.status == LEFT for task in run.tasks):
        submitted = plural(len(run.graph), "task")
        return f"none of {submitted} had ended when the flow did; {clean(run.reason)}"
    tasks, workers = plural(len(run.tasks), "task"), plural(len(run.cluster), "worker")
    if run.status == "cancelled":
        tasks = f"cancelled after {len(run.tasks):,} of {plural(len(run.graph), 'task')}"
    stored = sum(task.status == CACHED for task in run.tasks)
    spared = f" ({stored:,} of them had stored results)" if stored else ""
    done = f"{tasks} on {workers} in {seconds(run.seconds)}{spared}"
    if run.plan is None:
        return f"{done}; {clean(run.reason)}"
    verb = "forecast" if run.plan.adopted else "left to Dask, forecast"
    whole = " for all of them" if run.status == "cancelled" else ""
    forecast = f"{done}; {verb}{whole} {seconds(run.plan.forecast)}{_in_parts(run.plan)}"
    if run.plan.gap is None:
        return forecast
    bound = seconds(run.plan.lower_bound)
    undercut = ", which earlier runs undercut" if run.plan.forecast < run.plan.lower_bound else ""
    return f"{forecast}, proven bound {bound} at the durations expected{undercut}"


def outcome_markdown(run: RunRecord) -> str:
    """What happened, beside what was planned."""
    rows = _by_worker((task.worker, task.start, task.end) for task in run.tasks)
    lines = [
        f"# Outcome of {escaped(run.flow)}",
        "",
        f"{escaped(outcome_line(run))}.",
        "",
        *_table(("worker", "tasks", "busy", "first start", "last end"), rows),
    ]
    if run.plan is not None:
        lines += ["", *_table(("", ""), _facts(run.plan)), *_surprises(run, run.plan)]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """The text with nothing left in it that Markdown, HTML or what finds links understands."""
    flat = " ".join(clean(str(text)).split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MEANS_SOMETHING.sub(r"\\\g<0>", flat)


def seconds(amount: float) -> str:
    """A duration to three digits."""
    return f"{amount:.3g} s" if amount < 1000 else f"{amount:.0f} s"


def _tasks(plan: PlanRecord, foreseen: int) -> list[tuple[str, ...]]:
    if not foreseen:
        return []
    return [("tasks", f"{len(plan.schedule)}, of which {foreseen} are foreseen: not submitted yet")]


def _facts(plan: PlanRecord) -> list[tuple[str, ...]]:
    gap = plan.gap
    facts: list[tuple[str, ...]] = [
        (
            "forecast" if plan.adopted else "forecast with the plan",
            f"{seconds(plan.predicted)}{_in_parts(plan)}",
        ),
        ("proven bound", f"{seconds(plan.lower_bound)} ({escaped(plan.bound_method)})"),
        ("gap", "not known" if gap is None else f"{100 * gap:.1f} %"),
        ("planner", f"{escaped(plan.planner)}, {seconds(plan.planning_seconds)}"),
        ("stored schedule", escaped(plan.cache)),
    ]
    if plan.default_predicted is not None:
        facts.insert(1, ("forecast without a plan", seconds(plan.default_predicted)))
    return facts


def _in_parts(plan: PlanRecord) -> str:
    """That it was made while the run went on, if it was."""
    return f" when the last of {plan.parts} parts was submitted" if plan.parts > 1 else ""


def _by_worker(pieces: Iterable[tuple[str, float, float]]) -> list[tuple[str, ...]]:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for worker, start, end in pieces:
        found[worker].append((start, end))
    return [
        (
            escaped(worker),
            str(len(spans)),
            seconds(sum(end - start for start, end in spans)),
            seconds(min(start for start, _ in spans)),
            seconds(max(end for _, end in spans)),
        )
        for worker, spans in sorted(found.items())
    ]


def _surprises(run: RunRecord, plan: PlanRecord) -> list[str]:
    planned = {row.task: row for row in plan.schedule.assignments}
    differences = [
        (task.seconds - (planned[task.task].end - planned[task.task].start), task)
        for task in run.tasks
        if task.task in planned and task.status == "ok"
    ]
    largest = sorted(differences, key=lambda pair: -abs(pair[0]))[:SURPRISES]
    if not largest:
        return []
    rows = [
        (
            escaped(task.task),
            escaped(planned[task.task].worker),
            escaped(task.worker),
            seconds(task.seconds - difference),
            seconds(task.seconds),
        )
        for difference, task in largest
    ]
    head = ("task", "planned on", "ran on", "planned", "took")
    return ["", "Furthest from the plan:", "", *_table(head, rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines]
