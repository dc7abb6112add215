"""Aims: what the plans of a flow run are made for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from logging import Logger, LoggerAdapter
from typing import Any

import numpy as np

from orchestrator_core import words
from orchestrator_core.execute.advice import Advice, Advisor, Recalls
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import MAKESPAN

STEPS = 64
"""A deadline is moved forward to a 64th of itself, so that runs alike have graphs alike."""


class Aims:
    """What is asked of plans, counted from when it is made.

    Args:
        objective: criteria, as in `plan.objective`.
        deadline: seconds from now to the end of the flow; None for any time.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        objective: str,
        deadline: float | None,
        logger: Logger | LoggerAdapter[Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objective, self._deadline, self._logger = objective, deadline, logger
        self._clock, self._begun = clock, clock()
        self._asked: set[str] = set()

    def heed(self, objective: str | None) -> None:
        """A task asks for an objective of its own; it is that of the whole flow, if no task asks
        for another one."""
        if objective is None or objective in self._asked:
            return
        self._asked.add(objective)
        if len(self._asked) == 2:
            self._logger.warning(
                "Tasks of this flow ask for several objectives, %s: all are ignored",
                sorted(self._asked),
            )

    @property
    def objective(self) -> str:
        """What plans minimise now."""
        return next(iter(self._asked)) if len(self._asked) == 1 else self._objective

    def dated(self, graph: TaskGraph) -> TaskGraph:
        """The graph, each of whose tasks has to end before the flow has to."""
        if self._deadline is None:
            return graph
        step = self._deadline / STEPS
        left = math.floor((self._deadline - (self._clock() - self._begun)) / step) * step
        deadline = np.minimum(graph.deadline, max(0.0, left))
        deadline.flags.writeable = False
        return replace(graph, deadline=deadline)

    def judged(self, run: RunRecord) -> RunRecord:
        """The run that has just ended; people are told if it missed its deadline.

        By the end of its last task: it is recorded up to two seconds later, since Prefect waits for
        a thread of its own before.
        """
        if self._deadline is None or run.status != "ok":
            return run
        late = run.seconds - self._deadline
        if late <= 0:
            return run
        asked, over = words.seconds(self._deadline), words.seconds(late)
        missed = f"the deadline of {asked} was missed by {over}"
        self._logger.warning(missed)
        return replace(run, reason=f"{run.reason}; {missed}")


class AimingAdvisor:
    """An advisor that is told the aims of a run; for the rest, the one that it was made of."""

    def __init__(self, advisor: Advisor, aims: Aims) -> None:
        self._advisor, self._aims = advisor, aims

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        wanted = objective or self._aims.objective
        wishes = {} if wanted == str(MAKESPAN) else {"objective": wanted}
        return self._advisor.advise(self._aims.dated(graph), cluster, flow, **wishes)

    def history(self, flow: str, origin: str = "") -> Iterator[RunRecord]:
        if isinstance(self._advisor, Recalls):
            return self._advisor.history(flow, origin)
        return iter(())

    def record(self, run: RunRecord) -> None:
        self._advisor.record(self._aims.judged(run))

    def warm_up(self) -> None:
        """Make the first answer quick, where the advisor knows how."""
        getattr(self._advisor, "warm_up", lambda: None)()

    def close(self) -> None:
        self._advisor.close()
