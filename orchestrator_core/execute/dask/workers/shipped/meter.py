"""The worker plugin that measures tasks; what it finds travels in messages that Dask sends anyway.

A worker tells the scheduler the times of each task as a list of spans. The plugin adds entries to
these spans before they are sent: `PEAK` and `SIZE` to the computation, `NBYTES` to transfers.
Dask reads none of them, and no message is sent because of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from orchestrator_core.execute.dask.workers.shipped.fetches import Fetches
from orchestrator_core.execute.dask.workers.shipped.gauge import MemoryGauge
from orchestrator_core.execute.dask.workers.shipped.rss import high_water_reader, rss_reader
from orchestrator_core.execute.dask.workers.shipped.sizes import KINDS, Sizes, is_shell

PEAK, SIZE = "orchestrator-peak", "orchestrator-size"

_RUNNING = frozenset({"executing", "long-running", "cancelled", "resumed"})
"""States of a task in which its code may run."""


class Meter(WorkerPlugin):
    """Measures each task of one worker; after its first failure it does nothing any more."""

    _gauge: MemoryGauge | None = None

    def setup(self, worker: Any) -> None:
        try:
            self._worker = worker
            self._shells: dict[type, bool] = {}
            self._sizes = Sizes()
            self._fetches = Fetches()
            self._shared = _sharing()
            self._gauge = MemoryGauge(rss_reader(), high_water_reader())
        except Exception:
            self._give_up()

    def teardown(self, worker: Any) -> None:
        gauge, self._gauge = self._gauge, None
        if gauge is not None:
            gauge.close()

    def transition(self, key: Any, start: str, finish: str, **kwargs: Any) -> None:
        gauge = self._gauge
        if gauge is None:
            return
        try:
            if finish == "executing":
                gauge.begin(key)
            elif start in _RUNNING:
                if finish in _RUNNING:
                    gauge.disturb()
                else:
                    self._ended(key, finish, gauge.end(key))
            elif finish == "flight":
                self._fetches.begin(key, self._worker.state.tasks[key].coming_from)
            elif start == "flight":
                self._fetched(key, finish)
        except Exception:
            self._give_up()

    def _give_up(self) -> None:
        import logging

        logging.getLogger("orchestrator").debug("tasks are not measured any more", exc_info=True)
        self.teardown(self)

    def _ended(self, key: Any, finish: str, peak: int | None) -> None:
        state = self._worker.state.tasks.get(key)
        if state is None or finish not in ("memory", "error"):
            return
        spans = state.startstops
        computed = next((span for span in reversed(spans) if span["action"] == "compute"), None)
        if computed is None:
            return
        if peak is not None and not self._shared():
            computed[PEAK] = float(peak)
        if finish == "memory" and self._is_shell(state.type):
            self._tell_size(key, computed)

    def _fetched(self, key: Any, finish: str) -> None:
        state = self._worker.state.tasks.get(key)
        # One that is asked for once more while it comes stays where it is.
        if state is None or state.state != "flight":
            self._fetches.end(key, state if finish == "memory" else None)

    def _is_shell(self, kind: Any) -> bool:
        known = self._shells.get(kind)
        if known is None:
            if len(self._shells) > KINDS:
                self._shells.clear()
            known = self._shells[kind] = is_shell(kind)
        return known

    def _tell_size(self, key: Any, computed: dict[str, Any]) -> None:
        # What was spilled to disk at once stays there.
        data = self._worker.data
        output = getattr(data, "fast", data).get(key)
        if output is not None:
            computed[SIZE] = self._sizes.of(output)


def _sharing() -> Callable[[], bool]:
    """A function that tells whether other workers, or a scheduler, live in this process."""
    from distributed import Scheduler, Worker

    workers, schedulers = Worker._instances, Scheduler._instances
    return lambda: len(workers) > 1 or len(schedulers) > 0
