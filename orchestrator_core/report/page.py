"""The page: one HTML file with its figures, its drawing and its tables."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from orchestrator_core import words
from orchestrator_core.clean_text import clean
from orchestrator_core.execute.record import PlanRecord, RunRecord
from orchestrator_core.learn.drift import drift
from orchestrator_core.report.critical_path import Bar, critical_path
from orchestrator_core.report.gantt import Bars, gantt_data, short_kinds, threads_of

LONGEST_TABLE = 40
"""Rows of a table; the rest is counted."""

LONGEST_MISSES = 10
"""Tasks that are shown as furthest from the plan."""


def write(run: RunRecord, path: str | Path) -> Path:
    """Write the page of `run` to `path`; returns it, absolute."""
    target = Path(path).resolve()
    target.write_text(render(run), encoding="utf-8")
    return target


def render(run: RunRecord) -> str:
    """The page of `run`: HTML that loads nothing and runs only its own script."""
    bars = Bars.of(run)
    chain = critical_path(bars.actual or bars.planned, run.graph, threads_of(run))
    drifted = drift(run, worst=LONGEST_MISSES)
    kinds = _kind_rows(run)
    script = _resource("gantt.js")
    return _template().render(
        run=run,
        plan=run.plan,
        happened=bool(run.tasks),
        started=_moment(run.started_at),
        figures=_figures(run),
        chain=chain[-LONGEST_TABLE:],
        chain_hidden=max(0, len(chain) - LONGEST_TABLE),
        misses=() if drifted is None else drifted.worst,
        kinds=kinds[:LONGEST_TABLE],
        kinds_hidden=max(0, len(kinds) - LONGEST_TABLE),
        workers=_worker_rows(run, bars),
        data=_embed(gantt_data(run, bars, {link.bar.task for link in chain})),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=_resource("page.css"),
    )


def _moment(seconds: float) -> str:
    """Seconds since 1970 as a date and a time; a dash where the calendar has none."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%d %b %Y, %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "–"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_on_one_line
    )
    environment.filters |= {
        "seconds": words.seconds,
        "percent": words.percent,
    }
    return environment.from_string(_resource("page.html.j2"))


def _on_one_line(value: object) -> object:
    """Names without what would turn the text around them; the page's own parts as they are."""
    return clean(value) if type(value) is str else value


@cache
def _resource(name: str) -> str:
    return (files("orchestrator_core.report") / name).read_text(encoding="utf-8")


def _embed(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _figures(run: RunRecord) -> list[tuple[str, str, str]]:
    """(label, value, remark) of the cards at the top."""
    cards = []
    if run.tasks:
        tasks = words.plural(len(run.tasks), "task")
        cards.append(("took", words.seconds(run.seconds), f"{tasks}, {run.mode}"))
    if run.plan:
        cards += _plan_figures(run, run.plan)
    return cards


def _plan_figures(run: RunRecord, plan: PlanRecord) -> list[tuple[str, str, str]]:
    off = f"actual {words.percent(run.error, sign=True)}" if run.error is not None else ""
    if run.status == "cancelled":
        off = f"for all {words.plural(len(run.graph), 'task')}"
    elif run.sharing:
        off = "for a run by itself"
    cards = [
        (
            f"predicted as {_begun(plan)} began",
            words.seconds(plan.forecast),
            off or f"by {plan.planner}",
        ),
        *_bound_figures(plan),
    ]
    if plan.default_predicted:
        remark = f"simulated; the plan {_beside(plan.predicted, plan.default_predicted)}"
        cards.append(("Dask's own order", words.seconds(plan.default_predicted), remark))
    return cards


def _beside(planned: float, default: float) -> str:
    """How long the plan takes: one for a low price may take longer."""
    if planned > default:
        return f"takes {planned / default:.2f}× as long"
    return f"is {default / planned if planned > 0 else math.nan:.2f}× as fast"


def _bound_figures(plan: PlanRecord) -> list[tuple[str, str, str]]:
    """What is proven; a bound of 0 is none. It holds for durations as they were expected."""
    gap = plan.gap
    if gap is None:
        return []
    if plan.forecast < plan.lower_bound:
        undercut = "at the durations that were expected, which earlier runs undercut"
        return [("proven bound", words.seconds(plan.lower_bound), undercut)]
    paper = f"at most, of the plan's {words.seconds(plan.schedule.makespan)}"
    return [
        ("no plan can beat", words.seconds(plan.lower_bound), f"proven by {plan.bound_method}"),
        ("proven gap", words.percent(gap), "optimal" if gap <= 1e-6 else paper),
    ]


def _begun(plan: PlanRecord) -> str:
    """What began when the forecast was made; a run in parts is planned as they come."""
    return "it" if plan.parts == 1 else f"the last of {plan.parts} parts"


def _kind_rows(run: RunRecord) -> list[dict[str, Any]]:
    """What each kind of task took, most work first."""
    groups: dict[str, list[float]] = {}
    for record in run.tasks:
        groups.setdefault(record.kind, []).append(record.seconds)
    most_work_first = sorted(groups.items(), key=lambda group: -sum(group[1]))
    names = short_kinds([kind for kind, _ in most_work_first])
    return [
        {"kind": name, "count": len(times), "total": sum(times), "mean": sum(times) / len(times)}
        for name, (_, times) in zip(names, most_work_first, strict=True)
    ]


def _worker_rows(run: RunRecord, bars: Bars) -> list[dict[str, Any]]:
    """How busy each worker was, and was to be."""
    length = run.seconds if run.tasks else (run.plan.predicted if run.plan else 0.0)
    # The plan on paper: a forecast may be longer or shorter, by what earlier runs taught.
    drawn = max((bar.end for bar in bars.planned), default=0.0)
    actual, planned = _work(bars.actual), _work(bars.planned)
    tasks = Counter(bar.worker for bar in bars.actual or bars.planned)
    index = run.cluster.index
    rows: list[dict[str, Any]] = []
    for worker in run.cluster.workers:
        busy, plan = actual.get(worker.name, 0.0), planned.get(worker.name, 0.0)
        rows.append(
            {
                "name": worker.name,
                "kind": worker.kind,
                "tasks": tasks[worker.name],
                "busy": busy / (length * worker.threads) if bars.actual and length else None,
                "planned": plan / (drawn * worker.threads) if drawn else None,
            }
        )
    # How many threads those have that joined later, nobody has noted.
    unsaid = {"busy": None, "planned": None}
    joined = {task.worker: task.worker_kind for task in run.tasks if task.worker not in index}
    rows += [
        {"name": name, "kind": kind, "tasks": tasks[name], **unsaid}
        for name, kind in joined.items()
    ]
    return rows


def _work(bars: list[Bar]) -> dict[str, float]:
    """Seconds of threads of the bars of each worker."""
    found: dict[str, float] = {}
    for bar in bars:
        found[bar.worker] = found.get(bar.worker, 0.0) + bar.work
    return found
