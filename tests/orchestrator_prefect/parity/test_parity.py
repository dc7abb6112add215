"""A flow looks the same under `@flow` with a `DaskTaskRunner` and under `@optimized_flow`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect_dask import DaskTaskRunner

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow

from .. import test_flows
from ..conftest import Advisor
from . import current, rows_ending, rows_keeping, rows_nesting, rows_saying, rows_submitting
from .picture import picture, run
from .row import Row

ROWS = [
    *rows_submitting.ROWS,
    *rows_ending.ROWS,
    *rows_keeping.ROWS,
    *rows_nesting.ROWS,
    *rows_saying.ROWS,
    *(Row(body, slow=True) for body in test_flows.EXPECTED),
]
TABLE = [pytest.param(row, marks=[pytest.mark.slow] if row.slow else []) for row in ROWS]


class Plans(Advisor):
    """Plans from the first run on."""

    def __init__(self) -> None:
        super().__init__()
        graph, cluster = TaskGraph.build().done(), Cluster([Worker("0")])
        self.runs.append(RunRecord("", "", 0.0, 0.0, "observed", "", graph, cluster, "", ""))


@pytest.fixture(scope="module")
def limits(prefect_server: None) -> None:
    """What `concurrency` and limited tags ask for."""
    with get_client(sync_client=True) as client:
        client.upsert_global_concurrency_limit_by_name("parity-limit", 1)
        client.create_concurrency_limit(tag="parity-tag-limit", concurrency_limit=1)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_it_looks_the_same(cluster: Any, limits: None, row: Row) -> None:
    theirs = partial(flow, task_runner=DaskTaskRunner(address=cluster.scheduler_address))
    runner = OptimizedTaskRunner(cluster=cluster, advisor=Plans(), report=row.report)
    ours = partial(optimized_flow, task_runner=runner)
    wanted, found = (looks(row, decorator) for decorator in (theirs, ours))
    assert found == wanted


def looks(row: Row, decorator: Callable[..., Any]) -> dict[str, Any]:
    current.use(decorator)
    made = decorator(**row.options)(row.body)
    return picture(run(made, *row.arguments, raises=row.raises))
