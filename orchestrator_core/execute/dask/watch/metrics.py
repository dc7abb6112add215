"""The plugin's counters on Dask's own ``/metrics``, for Prometheus.

Prometheus knows processes, not schedulers: figures are summed over the schedulers of this process,
of which there is one except in tests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

if TYPE_CHECKING:
    from orchestrator_core.execute.dask.session import Session

COUNTED = {
    "placed": ("tasks_placed", "Tasks sent to the worker that was planned for them"),
    "released": ("tasks_released", "Tasks with a planned worker that were left to Dask"),
    "moved": ("tasks_moved", "Tasks taken from one worker's queue to another's"),
    "held": ("tasks_held", "Tasks kept back although they could have been sent"),
    "replans": ("replans", "Plans made anew while their graph ran"),
    "hung_removed": ("hung_workers_removed", "Workers removed because they no longer answered"),
    "plan_seconds": ("plan_seconds", "Seconds spent on planning"),
    "gain_seconds": ("gain_predicted_seconds", "Seconds that followed plans were to save"),
    "faults": ("faults", "Errors of the plugin's own"),
}
"""Field of `Counters`: name of the metric without its ends, and what it says."""

GRAPHS = {
    "planned": "graphs_planned",
    "declined": "graphs_declined",
    "observed": "graphs_observed",
}


class SessionMetrics(Collector):
    """Asked by Prometheus' registry; registered while there is a session to speak of."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self._registry = registry
        self._sessions: tuple[Session, ...] = ()
        self._lock = threading.Lock()

    def add(self, session: Session) -> None:
        """Count this session in; adding it again does nothing."""
        with self._lock:
            if session in self._sessions:
                return
            if not self._sessions:
                self._registry.register(self)
            self._sessions += (session,)

    def remove(self, session: Session) -> None:
        """Count it out; the last one takes all metrics with it."""
        with self._lock:
            if session not in self._sessions:
                return
            self._sessions = tuple(each for each in self._sessions if each is not session)
            if not self._sessions:
                self._registry.unregister(self)

    def describe(self) -> Iterable[Metric]:
        """The names that are taken, told without counting anything."""
        return _metrics(())

    def collect(self) -> Iterable[Metric]:
        """The figures of now; called in the thread of whichever server is asked."""
        return _metrics(self._sessions)


METRICS = SessionMetrics()
"""The one of this process, since Dask's ``/metrics`` shows the process's registry."""


def _metrics(sessions: tuple[Session, ...]) -> Iterator[Metric]:
    counters = [session.counters for session in sessions]
    graphs = CounterMetricFamily(
        "orchestrator_graphs", "Graphs that ended, by what became of their plan", labels=["plan"]
    )
    for outcome, field in GRAPHS.items():
        graphs.add_metric([outcome], sum(getattr(each, field) for each in counters))
    yield graphs
    for field, (name, text) in COUNTED.items():
        total = sum(getattr(each, field) for each in counters)
        yield CounterMetricFamily(f"orchestrator_{name}", text, value=total)
    yield GaugeMetricFamily(
        "orchestrator_graphs_open",
        "Graphs under way",
        value=sum(len(session.runs) for session in sessions),
    )
    yield GaugeMetricFamily(
        "orchestrator_withdrawn",
        "1 if the plugin gave up and left the scheduler to itself",
        value=sum(session.steering.follower.disabled is not None for session in sessions),
    )
