"""TracedFuture: the future of a task that is not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from prefect.futures import PrefectFuture

from orchestrator_prefect.tracing.stand_ins import StandIn, StandInState
from orchestrator_prefect.tracing.watch import refuse

if TYPE_CHECKING:
    from orchestrator_prefect.sending.epoch import Submission

UNTIMED = "how far a task is after some time, only a run can tell"


class TracedFuture(PrefectFuture[Any]):
    """Stands for a submission; whoever waits for it goes on at once.

    Args:
        number: of the submission. ended: told when the code waits for it.
    """

    def __init__(
        self, number: int, submission: Submission, ended: Callable[[Submission], None]
    ) -> None:
        self.submission = submission
        self._number, self._ended = number, ended
        self._final_state: Any = None

    @property
    def task_run_id(self) -> UUID:
        return UUID(int=self._number)

    @property
    def state(self) -> Any:
        return self._of("state", StandInState)

    def wait(self, timeout: float | None = None) -> None:
        if timeout is not None:
            refuse(UNTIMED)
        # To Prefect, which asks for no more than that there is one.
        self._final_state = True
        self._ended(self.submission)

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:
        self.wait()
        return self._of("result", StandIn)

    def add_done_callback(self, fn: Callable[[PrefectFuture[Any]], None]) -> None:
        fn(self)

    def _of(self, what: str, kind: type[StandIn]) -> Any:
        name = self.submission.name
        return kind(f"the {what} of task {name!r}", (name,))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        # Sets of futures, of which Prefect makes some, keep the order of submission.
        return self._number
