"""Publisher: artifacts go to the Prefect server in the background; no task waits for that."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from orchestrator_prefect.runs import artifacts
from orchestrator_prefect.runs.flow_run import FlowRunInfo

PATIENCE_SECONDS = 5.0
"""The end of a flow waits at most this long for a server that is slow or has too much to do; its
client tries again for minutes."""


class Publisher:
    """Publishes the artifacts of one flow run, one after the other.

    Args:
        info: the flow run. failed: told what could not be published, and why; from any thread.
    """

    def __init__(self, info: FlowRunInfo, failed: Callable[[str, Exception], None]) -> None:
        self._info, self._failed = info, failed
        self._waiting: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def publish(self, what: str, markdown: str) -> None:
        """Returns at once."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="artifacts", daemon=True)
            self._thread.start()
        self._waiting.put((what, markdown))

    def close(self) -> None:
        """Nothing more will come; what is still to be published is, and nobody waits."""
        if self._thread is not None:
            self._waiting.put(None)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until all is published after `close`, but not for long."""
        if self._thread is None:
            return
        self._thread.join(seconds)
        if self._thread.is_alive():
            slow = TimeoutError("the server did not answer in time")
            self._failed("The artifacts are not published yet", slow)

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            what, markdown = item
            try:
                self._info.inside(artifacts.publish, what, self._info.flow, markdown)
            except Exception as error:
                self._failed(f"The {what} could not be published as an artifact", error)
