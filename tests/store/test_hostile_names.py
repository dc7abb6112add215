"""What flows, tasks and workers are called goes into a database as text, and comes out the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import inspect

from orchestrator_core.store.engine import open_engine
from orchestrator_core.store.location import to_url
from orchestrator_core.store.sql import ScheduleStore
from tests.payloads import PAYLOADS
from tests.report.hostile import NAMES, run_of
from tests.store.records import a_run, stored


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 's.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def store(url: str) -> Iterator[ScheduleStore]:
    opened = ScheduleStore(url)
    yield opened
    opened.close()


def tables(url: str) -> list[str]:
    engine = open_engine(to_url(url))
    found = sorted(inspect(engine).get_table_names())
    engine.dispose()
    return found


def test_a_run_of_such_tasks_on_such_workers_comes_back_as_it_was(
    store: ScheduleStore, url: str
) -> None:
    store.add_run(a_run("c" * 32, flow="innocent"))
    before = tables(url)
    run = run_of(NAMES, "flow")
    store.add_run(run)
    assert store.run(run.run_id) == run
    assert {o.kind for o in store.observations(run.graph.kinds)} == set(run.graph.kinds)
    assert tables(url) == before
    assert store.latest_run("innocent") == a_run("c" * 32, flow="innocent")


def test_flows_are_found_by_such_names_and_by_no_other(store: ScheduleStore, url: str) -> None:
    chosen = PAYLOADS[:: 1 if url.startswith("sqlite") else 5]
    for number, payload in enumerate(chosen):
        store.add_run(a_run(f"{number:032x}", flow=payload, started_at=float(number)))
    store.put(stored(flow=chosen[1]))
    stored_as = [payload.replace("\0", "") for payload in chosen]
    for payload in chosen:
        found = store.runs(flow=payload)
        assert len(found) == stored_as.count(payload.replace("\0", ""))
        assert {line.flow for line in found} == {payload.replace("\0", "")}
    assert [s.flow for s in store.schedules(flow=chosen[1])] == [chosen[1]]
    assert len(store.runs(limit=1000)) == len(chosen)
