"""PlannedFuture: the future of a task whose message may still wait in the epoch buffer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect_dask.task_runners import PrefectDaskFuture

if TYPE_CHECKING:
    from orchestrator_prefect.sending.epoch import Submission

R = TypeVar("R")

SECONDS, PAUSE = 2.0, 0.002
"""How long a scheduler may take to hear of a task, and how often it is asked."""


class Sender(Protocol):
    """What a future needs of the run that it was submitted in."""

    def let_go(self, submission: Submission) -> None: ...

    def ended(self, submission: Submission, state: str) -> None: ...


class PlannedFuture(PrefectDaskFuture[R]):
    """A `PrefectDaskFuture` that lets its epoch go before anybody waits for it.

    Two of them are equal when they stand for the same task run. A copy that is pickled is a plain
    `PrefectDaskFuture`.
    """

    def __init__(
        self, task_run_id: UUID, wrapped_future: Any, submission: Submission, sender: Sender
    ) -> None:
        super().__init__(task_run_id, wrapped_future)
        self.submission = submission
        self._sender = sender

    @property
    def wrapped_future(self) -> Any:
        """Dask's future, which another client may give to tasks of its own."""
        if self._go():
            _until_known(self._wrapped_future)
        return self._wrapped_future

    @property
    def state(self) -> State[Any]:
        self._go()
        return super().state

    def wait(self, timeout: float | None = None) -> None:
        self._go()
        super().wait(timeout)
        self._tell()

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> R:
        self._go()
        try:
            value: R = super().result(timeout=timeout, raise_on_failure=raise_on_failure)
        finally:
            self._tell()
        return value

    def add_done_callback(self, fn: Callable[[PrefectFuture[R]], None]) -> None:
        self._go()
        super().add_done_callback(fn)

    def belongs_to(self, sender: Sender) -> bool:
        """Was it submitted in this run of a flow, through the same client?"""
        return self._sender is sender

    def _go(self) -> bool:
        """Was it held until now?"""
        was_held = self._final_state is None and not self.submission.sent
        if was_held:
            self._sender.let_go(self.submission)
        return was_held

    def _tell(self) -> None:
        if self._final_state is not None:
            self._sender.ended(self.submission, self._final_state.name or "")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlannedFuture):
            return NotImplemented
        return bool(self._task_run_id == other._task_run_id)

    def __hash__(self) -> int:
        return hash(self._task_run_id)

    def __reduce__(self) -> tuple[Any, ...]:
        return (PrefectDaskFuture, (self._task_run_id, self.wrapped_future))


def _until_known(future: Any) -> None:
    """Until the scheduler has heard of it: what another client says may come there sooner."""
    client, deadline = future.client, time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        states = client.sync(client.scheduler.get_task_status, keys=[future.key])
        if states[future.key] is not None:
            return
        time.sleep(PAUSE)


# Where a flow gets a future as a parameter, the name of its class is what people see of it.
PlannedFuture.__name__ = PrefectDaskFuture.__name__
