"""Demands: what tasks are said to need; read, checked and bound when they are submitted."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from orchestrator_core.execute.dask.graphs.hints import Hint, needing, wishing
from orchestrator_core.graph.text import shown
from orchestrator_prefect.settings.aims import Aims
from orchestrator_prefect.settings.estimates import Estimate
from orchestrator_prefect.settings.hints import UNSAID, resources_of, submitted_hint, workers_here
from orchestrator_prefect.settings.supply import Supply

ALIKE = 0.75
"""Share of their letters from which on one name may have been meant by another."""


class Demands:
    """Reads what is said of tasks.

    Args:
        supply: what the workers have. estimates: by name of the task. aims: of the flow run.
    """

    def __init__(self, supply: Supply, estimates: Mapping[str, Estimate], aims: Aims) -> None:
        self._supply, self._aims = supply, aims
        self._estimates = {task: each.hint for task, each in estimates.items()}
        self._asked: set[str] = set()

    @contextmanager
    def of(self, task: Any) -> Iterator[Hint]:
        """Within it, the task is submitted: no worker without the resources that it needs gets it,
        and none but those that it is to run on, nor before it is to, whether a plan is followed
        or not.

        Raises:
            InvalidInput: for a hint that makes no sense.
            InfeasibleInstance: if it needs what no worker has.
        """
        self._asked.add(task.name)
        hint = submitted_hint(task, self._estimates.get(task.name, UNSAID))
        resources = resources_of(hint)
        self._supply.check(task.name, resources, workers_here())
        self._aims.heed(hint.objective)
        with needing(resources if hint.resources else {}), wishing(hint):
            yield hint

    def unmet(self) -> Iterator[str]:
        """One line for each estimate that no task of the run asked for, where one without an
        estimate may have been meant: a task that is not always submitted is nobody's slip."""
        unsaid = sorted(self._asked - self._estimates.keys())
        for task in (each for each in self._estimates if each not in self._asked):
            for meant in difflib.get_close_matches(task, unsaid, n=1, cutoff=ALIKE):
                yield (
                    f"What is estimated of task {shown(task)} helped nobody, as there was none; "
                    f"was {shown(meant)} meant?"
                )
