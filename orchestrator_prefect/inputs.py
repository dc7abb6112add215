"""Inputs: what a task is given, as Dask takes it, and which tasks it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prefect.client.schemas.objects import State
from prefect.utilities.collections import visit_collection
from prefect_dask.task_runners import PrefectDaskFuture
from pydantic import BaseModel

from orchestrator_prefect.sending.futures import PlannedFuture
from orchestrator_prefect.session import FlowSession


def looked_into(wait_for: Any) -> Any:
    """What a task is to wait for, one thing or many, so that Prefect finds all that is in it: it
    looks into lists and mappings, but not into what gives its things one by one."""
    if isinstance(wait_for, Iterable) and not isinstance(wait_for, Mapping | BaseModel):
        return list(wait_for)
    return wait_for


class Inputs:
    """Finds in arguments the tasks that they come from, and makes Dask's futures of Prefect's."""

    def __init__(self, session: FlowSession) -> None:
        self._session = session
        self.after: list[str] = []
        self.waits_for: list[str] = []

    def for_dask(self, expression: Any) -> Any:
        return visit_collection(expression, visit_fn=self._visit, return_data=True)

    def _visit(self, value: Any) -> Any:
        if isinstance(value, PlannedFuture) and value.belongs_to(self._session):
            self.after.append(value.submission.name)
            # Not `wrapped_future`, which would end the epoch.
            return value._wrapped_future
        if isinstance(value, PrefectDaskFuture):
            return value.wrapped_future
        if isinstance(value, State):
            name = self._session.name_of(value.state_details.task_run_id)
            if name is not None:
                self.waits_for.append(name)
        return value
