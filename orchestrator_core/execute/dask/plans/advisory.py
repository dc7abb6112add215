"""The advisor, off the event loop: it loads, warms up, thinks and writes in threads of its own.

Nothing here is waited for without a limit, and no error of the advisor's leaves this module but
through `fault`. Threads are daemons: a hanging advisor does not keep a process alive.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from functools import partial
from typing import Any

from distributed.metrics import monotonic

from orchestrator_core.errors import OrchestratorError, PlanningFailed
from orchestrator_core.execute.advice import (
    Advice,
    Advisor,
    LoadsLater,
    MayBeHeldUp,
    TakesRuns,
)
from orchestrator_core.execute.dask.graphs.finished import Finished
from orchestrator_core.execute.dask.plans.line import Ask, Line
from orchestrator_core.graph.cluster import Cluster

log = logging.getLogger("orchestrator.dask")

Question = Callable[[Advisor], Advice]
LINGER = 60.0
"""Seconds that a closing advisor is given to finish what it is thinking about."""

LOOK = 0.05
"""Seconds between two looks at an advisor that loads; it tells nobody when it is done."""

RECORDS_WAITING = 256
"""Runs that wait to be written; of more, the new ones are dropped."""


class Advisory:
    """Questions to an advisor and records for it; all methods are called on the event loop."""

    def __init__(
        self,
        make: Callable[[], Advisor],
        fault: Callable[[str, Exception], None],
        recall: Callable[[Sequence[Cluster]], None],
    ) -> None:
        """`recall` takes the clusters that earlier sessions ended with, the latest last."""
        self._make = make
        self._fault = fault
        self._recall = recall
        self._loop: asyncio.AbstractEventLoop | None = None
        self._advisor: Advisor | None = None
        self._line = Line(_answer)
        self._reflected: Future[Advice] | None = None
        self._records: queue.Queue[Finished | None] = queue.Queue()
        self._started = asyncio.Event()
        self._closed = asyncio.Event()
        self._warm = False
        self._lack = ""
        self._closing = False

    def start(self, plans: bool = True) -> None:
        """Load the advisor in the background, and warm it up if it is to plan."""
        self._loop = asyncio.get_running_loop()
        _thread(lambda: self._serve(plans), "orchestrator-advisor")

    @property
    def is_ready(self) -> bool:
        """Can it answer, and is no earlier question still open?"""
        return self._is_loaded and self._line.is_free

    @property
    def _is_loaded(self) -> bool:
        advisor = self._advisor
        return self._warm and not (isinstance(advisor, LoadsLater) and advisor.is_loading)

    async def wait_ready(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until the advisor is warm, and loads nothing; is it so?"""
        until = monotonic() + timeout
        await _within(self._started, timeout)
        while self._warm and not self._is_loaded and (left := until - monotonic()) > 0:
            await asyncio.sleep(min(LOOK, left))
        return self._is_loaded

    @property
    def holdup(self) -> str:
        """Why it will take minutes until plans can be made, or for ever, for people; empty if it
        will not."""
        if self._lack:
            return self._lack
        advisor = self._advisor
        return advisor.holdup if not self._warm and isinstance(advisor, MayBeHeldUp) else ""

    def ask(self, question: Question) -> Future[Advice] | None:
        """The future answer, as soon as earlier questions are answered; None if the advisor cannot
        be asked now."""
        advisor = self._advisor
        if advisor is None or self._closing or not self._is_loaded:
            return None
        return self._line.ask(partial(question, advisor))

    def reflect(self, question: Question) -> Future[Advice] | None:
        """The future answer to what may take longer; None while another such is thought about.

        Other questions are answered meanwhile.
        """
        advisor = self._advisor
        busy = self._reflected is not None and not self._reflected.done()
        if advisor is None or self._closing or busy:
            return None
        answer: Future[Advice] = Future()
        self._reflected = answer
        _thread(lambda: _answer(answer, partial(question, advisor)), "orchestrator-reflection")
        return answer

    def record(self, run: Finished) -> None:
        """Hand over a run, to be remembered in the background; returns at once.

        Without an advisor, which was said when there was none, and after `close` it is dropped.
        """
        if self._closing:
            return
        if self._records.qsize() >= RECORDS_WAITING:
            log.warning("a run was not recorded: too many wait to be written")
            return
        self._records.put(run)

    def close(self) -> None:
        """Write what waits, then stop; returns at once, see `wait_closed`."""
        if self._loop is None:
            self._closed.set()
        if not self._closing:
            self._closing = True
            self._records.put(None)

    async def wait_closed(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until all is written; is it?"""
        return await _within(self._closed, timeout)

    # --- in the background thread ------------------------------------------------------------

    def _serve(self, plans: bool) -> None:
        try:
            self._advisor = advisor = self._make()
        except Exception as error:
            is_known = isinstance(error, OrchestratorError)  # whose message says all
            self._lack = f"no advisor, so nothing is planned or recorded: {error}"
            log.warning("%s", self._lack, exc_info=not is_known)
            self._closing = True
            self._tell(self._started.set)
            self._tell(self._closed.set)
            return
        if plans and hasattr(advisor, "warm_up"):
            _thread(lambda: self._warm_up(advisor), "orchestrator-warm-up")
        else:
            self._tell(self._start_planning, True)
        while (run := self._records.get()) is not None:
            self._guarded("record", partial(_remember, advisor, run))
            del run  # nobody needs it while the next one is waited for
        self._finish_thinking()
        self._guarded("close", advisor.close)
        self._tell(self._closed.set)

    def _finish_thinking(self) -> None:
        """What is being found for the next time is not lost; nobody waits for it, for all is
        written."""
        thinking = self._reflected
        if thinking is not None and not thinking.done():
            self._tell(self._closed.set)
            answered(thinking, LINGER)

    def _warm_up(self, advisor: Any) -> None:
        warm = self._guarded("warm_up", advisor.warm_up)
        self._tell(self._start_planning, warm, getattr(advisor, "measured", ()))

    def _start_planning(self, warm: bool, measured: Sequence[Cluster] = ()) -> None:
        self._recall(measured)
        self._warm = warm
        if not warm:
            self._lack = "nothing is planned: the advisor failed when it was made ready"
        self._started.set()

    def _guarded(self, where: str, call: Callable[[], object]) -> bool:
        try:
            call()
        except Exception as error:
            self._tell(self._fault, f"advisor.{where}", error)
            return False
        except BaseException as error:
            # This thread is not the advisor's to end.
            self._tell(self._fault, f"advisor.{where}", _exited(error))
            return False
        return True

    def _tell(self, callback: Callable[..., object], *arguments: Any) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            log.debug("the event loop closed before %r", callback)


def _remember(advisor: Advisor, run: Finished) -> None:
    if isinstance(advisor, TakesRuns):
        advisor.take(run.record, len(run))
    else:
        advisor.record(run.record())


def answered(answer: Future[Advice], wait: float) -> bool:
    """Wait at most `wait` seconds, on this very thread; is there an answer or an error?"""
    try:
        answer.exception(timeout=wait)
    except NotYet:
        return False
    return True


def _answer(answer: Future[Advice], question: Ask) -> None:
    try:
        answer.set_result(question())
    except Exception as error:
        answer.set_exception(error)
    except BaseException as error:
        # An exit: who asked must not wait for ever, and nobody else must exit for it.
        answer.set_exception(_exited(error))


def _exited(error: BaseException) -> PlanningFailed:
    return PlanningFailed(f"the advisor gave up: {error!r}")


async def _within(event: asyncio.Event, timeout: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except TimeoutError:
        return False
    return True


def _thread(target: Callable[[], object], name: str) -> None:
    threading.Thread(target=target, name=name, daemon=True).start()
