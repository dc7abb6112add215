"""Whatever tasks and flows of Prefect are called: plans, records and artifacts hold it as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from prefect import flow, task

from orchestrator_core.clean_text import clean
from orchestrator_core.report import render
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.runs.artifacts import (
    escaped,
    outcome_line,
    outcome_markdown,
    plan_markdown,
)
from orchestrator_prefect.sending.flow_graph import Occurrences
from tests.payloads import (
    HTML,
    MARKDOWN,
    PATHS,
    PAYLOADS,
    SHELL,
    SQL,
    TERMINAL,
    UNICODE,
    ZERO,
)
from tests.report.hostile import NAMES, run_of

from .conftest import Advisor

LINKS = re.compile(r"(?:https?|ftp)://|www\.|\w@", re.IGNORECASE)
"""What turns into a link by itself where Markdown is shown."""

TEXT = {"inline", "text", "softbreak"}
FRAME = re.compile(r"(heading|paragraph|table|thead|tbody|tr|th|td)_(open|close)")


def tokens(markdown: str) -> Iterator[Token]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for token in parser.parse(markdown):
        yield token
        yield from token.children or ()


def cells(markdown: str) -> list[str]:
    """The text of all cells; fails where there is more than headings, sentences and tables."""
    found = []
    inside = False
    for token in tokens(markdown):
        assert token.type in TEXT or FRAME.fullmatch(token.type), (token.type, token.content)
        if token.type in ("td_open", "th_open"):
            inside = True
            found.append("")
        elif token.type in ("td_close", "th_close"):
            inside = False
        elif token.type == "text" and inside:
            found[-1] += token.content
    return found


def told(name: str) -> str:
    return " ".join(clean(name).split())


def test_artifacts_hold_such_names_as_text_in_their_cells() -> None:
    for start in range(0, len(NAMES), 24):
        names = NAMES[start : start + 24]
        run = run_of(names, "flow")
        assert run.plan is not None
        for markdown in (plan_markdown(run.flow, run.plan), outcome_markdown(run)):
            shown = cells(markdown)
            assert {told(worker.name) for worker in run.cluster.workers} <= set(shown)
            assert not LINKS.search(markdown)
        assert {told(task.task) for task in run.tasks[:1]} <= set(shown)


def test_the_name_of_a_flow_stays_in_its_line() -> None:
    plain = run_of(NAMES[:12], "flow")
    for payload in PAYLOADS:
        run = replace(plain, flow=payload, reason=payload)
        assert run.plan is not None
        for markdown in (plan_markdown(payload, run.plan), outcome_markdown(run)):
            cells(markdown)
            assert not LINKS.search(markdown)
            assert len(markdown.split("\n")) == len(markdown.splitlines())
            title = next(token for token in tokens(markdown) if token.type == "inline")
            shown = "".join(token.content for token in title.children or ())
            assert shown.endswith(f"of {told(payload)}".strip()), payload
        line = outcome_line(replace(run, plan=None))
        assert not any(ord(c) < 0x20 or c in "\u202e\u2066" for c in line)


def test_names_are_different_however_they_are_spelled_out() -> None:
    names = Occurrences()
    given = [*PAYLOADS, *map(repr, PAYLOADS), "\\x00", "\x00", "x" * 2000, "x" * 2000, "x" * 2001]
    made = [names.name(name) for name in given]
    assert len(set(made)) == len(given)


CHOSEN = [
    *(each[i] for each in (HTML, SQL, SHELL, MARKDOWN, PATHS, TERMINAL, UNICODE) for i in (0, 1)),
    *ZERO[:2],
    "x" * 2000,
]


def test_a_flow_whose_tasks_have_such_names_is_planned_and_remembered(
    cluster: Any, advisor: Advisor, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    @task
    def one(x: int) -> int:
        return x

    @flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor))
    def hostile() -> int:
        futures = [one.with_options(name=name).submit(i) for i, name in enumerate(CHOSEN)]
        return sum(future.result() for future in futures)

    for _ in range(2):
        assert hostile() == sum(range(len(CHOSEN)))
    first, second = advisor.runs
    assert second.mode == "planned"
    assert len(first.graph) == len(second.graph) == len(CHOSEN)
    assert {record.task for record in second.tasks} == set(second.graph.names)
    store = ScheduleStore(tmp_path / "s.db")
    store.add_run(second)
    assert store.run(second.run_id) == second
    store.close()
    assert "<script>" not in render(second).replace("<script>\n", "", 1).split("<body>")[0]
    assert escaped(second.graph.names[0]) == "&lt;script&gt;alert(1)&lt;/script&gt;-0"
    assert not [r for r in caplog.records if "orchestrator" in r.pathname and r.levelno > 20]
