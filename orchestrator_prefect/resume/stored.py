"""What a flow run that runs again will take from storage instead of computing it.

Such a task costs nothing: a plan is for what is left. Whatever goes wrong here, the plan counts the
task in full, as if nothing were stored.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from threading import Lock, Thread
from typing import Any

from prefect.logging import get_logger
from prefect.utilities.collections import visit_collection

from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_prefect.resume.earlier_tries import EarlierTries
from orchestrator_prefect.resume.result_keys import result_key
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.futures import PlannedFuture

READY_SECONDS = 5.0
"""So long after it was asked the server has to have said what is stored; nobody waits longer."""

STORED = ":stored"
"""What the kind of a stored task ends with in plans: its time is not that of the others."""


class Stored:
    """The tasks of one run of a flow whose results are stored; safe to use from any thread.

    Where the flow runs for the first time nobody is asked, and nothing is.
    """

    def __init__(self, info: FlowRunInfo) -> None:
        self._flow_run = info.flow_run
        self._keys: dict[str, str] = {}
        self._taken: set[str] = set()
        self._lock = Lock()
        self._tries: Future[EarlierTries] | None = None
        self._until = time.monotonic() + READY_SECONDS
        if info.runs_again:
            self._tries = Future()
            Thread(target=self._ask, args=(info,), name="stored", daemon=True).start()

    def look(self, submission: Submission, task: Any, arguments: Mapping[str, Any]) -> None:
        """Note whether the result of this submission is stored; `arguments` as the flow gave them.

        Submissions are looked at in order, producers before consumers.
        """
        if self._tries is None:
            return
        try:
            tries = self._tries.result(max(0.0, self._until - time.monotonic()))
            with self._lock:
                key = self._find(tries, task, arguments)
                if key is not None:
                    self._keys[submission.name] = key
        except Exception as error:
            get_logger(__name__).debug("%s counts in full: %r", submission.name, error)

    def marked(self, batch: Sequence[Submission]) -> list[Submission]:
        """The batch for a plan: those that are stored take no time."""
        return [_free(each) if each.name in self._keys else each for each in batch]

    def _find(self, tries: EarlierTries, task: Any, arguments: Mapping[str, Any]) -> str | None:
        given = {name: futures for name, value in arguments.items() if (futures := _within(value))}
        if not given:
            key = result_key(task, arguments, self._flow_run)
            return key if key in tries.keys else None
        names = {name: [each.submission.name for each in given[name]] for name in given}
        if not all(each in self._keys for name in names for each in names[name]):
            return None
        took = frozenset((name, frozenset(self._keys[i] for i in names[name])) for name in names)
        # Several tasks may have taken the same; each is found once.
        for key in tries.taking.get((task.task_key, took), ()):
            if key not in self._taken:
                self._taken.add(key)
                return key
        return None

    def _ask(self, info: FlowRunInfo) -> None:
        assert self._tries is not None
        try:
            self._tries.set_result(info.inside(EarlierTries.of, info.flow_run.id))
        except Exception as error:
            get_logger(__name__).debug("What is stored is not known: %r", error)
            self._tries.set_result(EarlierTries())


def _free(submission: Submission) -> Submission:
    hint = replace(submission.hint or Hint(), seconds=0.0)
    return replace(submission, kind=f"{submission.kind}{STORED}", hint=hint)


def _within(value: Any) -> list[PlannedFuture[Any]]:
    """The futures in an argument."""
    found: list[PlannedFuture[Any]] = []

    def visit(each: Any) -> Any:
        if isinstance(each, PlannedFuture):
            found.append(each)
        return each

    visit_collection(value, visit_fn=visit, return_data=False)
    return found
