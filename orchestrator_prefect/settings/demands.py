"""Demands: what tasks are said to need; read, checked and bound when they are submitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from orchestrator_core.execute.dask.graphs.hints import Hint, needing, wishing
from orchestrator_prefect.settings.aims import Aims
from orchestrator_prefect.settings.estimates import Estimate
from orchestrator_prefect.settings.hints import UNSAID, resources_of, submitted_hint, workers_here
from orchestrator_prefect.settings.supply import Supply


class Demands:
    """Reads what is said of tasks.

    Args:
        supply: what the workers have. estimates: by name of the task. aims: of the flow run.
    """

    def __init__(self, supply: Supply, estimates: Mapping[str, Estimate], aims: Aims) -> None:
        self._supply, self._aims = supply, aims
        self._estimates = {task: each.hint for task, each in estimates.items()}

    @contextmanager
    def of(self, task: Any) -> Iterator[Hint]:
        """Within it, the task is submitted: no worker without the resources that it needs gets it,
        and none but those that it is to run on, nor before it is to, whether a plan is followed
        or not.

        Raises:
            InvalidInput: for a hint that makes no sense.
            InfeasibleInstance: if it needs what no worker has.
        """
        hint = submitted_hint(task, self._estimates.get(task.name, UNSAID))
        resources = resources_of(hint)
        self._supply.check(task.name, resources, workers_here())
        self._aims.heed(hint.objective)
        with needing(resources if hint.resources else {}), wishing(hint):
            yield hint
