"""Early: what is begun before it is needed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Early(Generic[T]):
    """A call that has begun in a thread of its own."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call, self._future = call, Future[T]()
        Thread(target=self._run, name="orchestrator-early", daemon=True).start()

    def result(self) -> T:
        """What it returned, once it has; raises what it raised."""
        return self._future.result()

    def _run(self) -> None:
        try:
            self._future.set_result(self._call())
        except BaseException as error:
            self._future.set_exception(error)
