"""Elastic: adaptive clusters ask the planner how many workers its runs are worth, and which may go.

Dask's `Adaptive` asks the scheduler for `adaptive_target` and `workers_to_close`, which know how
busy workers are, not what is to come: a long chain counts as much as a wide graph, and an idle
worker may be the one that the next task is planned on. While planned runs are under way, both are
answered from `execute.scaling`; thought about in a thread, at most once a second, and only if
somebody asks. Of a run whose plan is not followed, as on workers that are all alike, the plan says
how many workers it is worth, and Dask who goes. Without a fresh answer, or if anything goes wrong,
the original answers.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dask.utils import parse_timedelta
from distributed.metrics import monotonic

from orchestrator_core.execute.dask.scaling.downscaling import Grouping, spared
from orchestrator_core.execute.dask.scaling.replaced import Replaced
from orchestrator_core.execute.dask.scaling.sizing import Question, thought
from orchestrator_core.execute.directives import Key

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, WorkerState

    from orchestrator_core.execute.dask.workers.roster import Roster
    from orchestrator_core.execute.scaling.scaling import Recommendation, Remaining

log = logging.getLogger("orchestrator.dask")

REFRESH_SECONDS = 1.0
"""An answer is thought over again after this time, and after ten times of what it took."""

FRESH_SECONDS = 5.0
"""So long after the next one could have been there an answer is no answer."""

CROWDED = 0.6
"""Part of all memory beyond which Dask itself asks for more workers."""

PLAIN = frozenset({"target", "n", "key", "attribute"})
"""What may be said to `workers_to_close` for us to answer."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What was recommended, `until` a moment of the monotonic clock, for runs of tasks of these
    `keys`; is the plan of each of them `followed`?"""

    advice: Recommendation
    keys: frozenset[Key]
    until: float
    followed: bool = True


class Elastic:
    """Answers an adaptive cluster's two questions; its methods are called on the event loop."""

    def __init__(
        self,
        scheduler: Scheduler,
        roster: Roster,
        runs: Callable[[], Sequence[Remaining]],
        are_any: Callable[[], bool],
        fault: Callable[[str, Exception], None],
        refresh: float = REFRESH_SECONDS,
    ) -> None:
        """`runs` tells what is left of the planned runs under way, which takes a while; `are_any`,
        whether there are any; `fault` is told what fails, and does not raise; `refresh` is the time
        between two thoughts, in seconds."""
        self._scheduler, self._roster = scheduler, roster
        self._runs, self._are_any = runs, are_any
        self._fault, self._refresh = fault, refresh
        self._replaced: list[Replaced] = []
        self._loop = asyncio.get_running_loop()
        self._answer: Answer | None = None
        self._group: Grouping | None = None
        self._thinking = False
        self._next = 0.0

    def install(self) -> None:
        """Begin to answer."""
        self._replaced = [
            Replaced(self._scheduler, "adaptive_target", self._target),
            Replaced(self._scheduler, "workers_to_close", self._to_close),
        ]

    def uninstall(self) -> None:
        """Leave the scheduler as it was."""
        for replaced in reversed(self._replaced):
            replaced.remove()
        self._replaced, self._answer = [], None

    def spare(self, workers: Sequence[WorkerState]) -> list[WorkerState]:
        """Of the workers that Dask may retire, those that no pinned task needs; whole groups, where
        it is asked about groups right now."""
        return spared(self._scheduler, workers, self._group)

    # --- the two questions -------------------------------------------------------------------

    def _target(self, original: Callable[..., int], *arguments: Any, **named: Any) -> int:
        usual = original(*arguments, **named)
        try:
            duration = arguments[0] if arguments else named.get("target_duration")
            return self._workers(usual, duration)
        except Exception as error:
            self._fault("adaptive_target", error)
            return usual

    def _workers(self, usual: int, duration: Any) -> int:
        """Ours; where others want workers too, or memory is scarce, at least as many as usual."""
        if duration is not None and self._are_any():
            self._think_again(float(parse_timedelta(duration)))
        answer = self._fresh()
        if answer is None:
            return usual
        wanted = answer.advice.workers
        if not answer.followed:
            # Where Dask decides, nobody gathers tasks on those who are to stay.
            wanted = max(
                wanted, sum(bool(ws.processing) for ws in self._scheduler.workers.values())
            )
        return max(usual, wanted) if self._is_crowded() or self._has_others(answer) else wanted

    def _to_close(
        self, original: Callable[..., list[Any]], *arguments: Any, **named: Any
    ) -> list[Any]:
        chosen: list[Any] | None = None
        try:
            if not arguments and PLAIN.issuperset(named) and named.get("key") is None:
                chosen = self._chosen(named.get("target"), named.get("n"))
        except Exception as error:
            self._fault("workers_to_close", error)
        if chosen is not None:
            return [getattr(worker, named.get("attribute", "address")) for worker in chosen]
        self._group = _grouping(*arguments, **named)
        try:
            return original(*arguments, **named)  # which asks our plugin whom to spare
        finally:
            self._group = None

    def _chosen(self, target: int | None, number: int | None) -> list[WorkerState] | None:
        """Who goes; None if that is not ours to say."""
        if target is None and number is None:
            return None
        answer = self._fresh()
        if answer is None or not answer.followed or self._has_others(answer):
            return None
        if number is None:
            number = len(self._scheduler.workers) - (target or 0)
        return self._may_go(answer)[: max(0, number)]

    def _may_go(self, answer: Answer) -> list[WorkerState]:
        scheduler = self._scheduler
        by_name = {self._roster.name(address): ws for address, ws in scheduler.workers.items()}
        order = [by_name[name] for name in answer.advice.retire if name in by_name]
        # What a busy one runs would be run again elsewhere; who asks, asks again in a moment.
        valid = [worker for worker in order if not worker.processing and not worker.actors]
        for plugin in list(scheduler.plugins.values()):
            valid = plugin.valid_workers_downscaling(scheduler, valid)
        return spared(scheduler, [worker for worker in order if worker in valid])

    # --- facts -------------------------------------------------------------------------------

    def _fresh(self) -> Answer | None:
        answer = self._answer
        if not self._are_any() or answer is None:
            return None
        return answer if monotonic() <= answer.until else None

    def _is_crowded(self) -> bool:
        workers = self._scheduler.workers.values()
        limit = sum(worker.memory_limit for worker in workers)
        return limit > 0 and sum(worker.nbytes for worker in workers) > CROWDED * limit

    def _has_others(self, answer: Answer) -> bool:
        """Is there anything to run that the answer knows nothing of?"""
        scheduler, keys = self._scheduler, answer.keys
        waiting = any(task.key not in keys for task in scheduler.queued)
        waiting |= any(task.key not in keys for task in scheduler.unrunnable)
        return waiting or any(
            task.key not in keys
            for worker in scheduler.workers.values()
            for task in worker.processing
        )

    # --- thinking ----------------------------------------------------------------------------

    def _think_again(self, seconds: float) -> None:
        """In a thread, if it is time to; before, nobody tells what is left of each run."""
        began = monotonic()
        if self._thinking or began < self._next:
            return
        runs = tuple(self._runs())
        if not runs:
            return
        workers = self._scheduler.workers.items()
        held = {self._roster.name(address): float(ws.nbytes) for address, ws in workers}
        self._thinking = True
        think = partial(self._think, Question(runs, held, seconds), began)
        threading.Thread(target=think, name="orchestrator-elastic", daemon=True).start()

    def _think(self, question: Question, began: float) -> None:
        advice: Recommendation | Exception | None
        try:
            advice = thought(question)
        except Exception as error:
            advice = error
        learn = partial(self._learn, question, advice, monotonic() - began)
        try:
            self._loop.call_soon_threadsafe(learn)
        except RuntimeError:
            log.debug("the event loop closed while a cluster's size was thought about")

    def _learn(
        self, question: Question, advice: Recommendation | Exception | None, took: float
    ) -> None:
        self._thinking = False
        self._next = monotonic() + max(self._refresh, 10.0 * took)
        self._answer = None
        if not self._replaced or advice is None:
            return
        if isinstance(advice, Exception):
            self._fault("elastic", advice)
            return
        keys = frozenset(key for run in question.runs for key in run.keys)
        followed = all(run.followed for run in question.runs)
        self._answer = Answer(advice, keys, self._next + took + FRESH_SECONDS, followed)


def _grouping(
    memory_ratio: Any = None,
    n: Any = None,
    key: Grouping | bytes | None = None,
    *others: Any,
    **named: Any,
) -> Grouping | None:
    """Who goes together, of what `workers_to_close` is asked."""
    return pickle.loads(key) if isinstance(key, bytes) else key
