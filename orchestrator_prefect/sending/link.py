"""The scheduler, as a flow run sees it: its cluster, what will come, and what happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator_core.execute.advice import NoAdvisor
from orchestrator_core.execute.directives import Hold, Slot
from orchestrator_core.execute.ending import Ending
from orchestrator_core.execute.record import TaskRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_prefect.sending.epoch import Submission

if TYPE_CHECKING:
    from orchestrator_core.execute.live import LivePlan

Finished = tuple[str, TaskRecord]
"""Key and record; the record's times are seconds from the run's first epoch."""


class Link(Protocol):
    """What a flow run asks of the scheduler. Any method may raise; the flow goes on without."""

    def mode(self) -> str:
        """How plans are followed there: ``director``, ``restrict``, ``observe`` or ``off``."""
        ...

    def cluster(self) -> Cluster:
        """The workers that are there now."""
        ...

    def prepared(self) -> Mapping[str, Sequence[str]]:
        """By worker, the kinds of tasks whose setup its process has behind it."""
        ...

    def begin(
        self,
        run_id: str,
        batch: Sequence[Submission],
        slots: Mapping[str, Slot],
        holds: Mapping[str, Hold],
        plan: LivePlan | None,
        gone: Sequence[str] = (),
    ) -> float:
        """These tasks come next, and belong there; without slots they are only watched.

        With the plan, they are also moved when things go differently. The keys in `gone` were
        announced before and will not come after all.

        Returns the start of the run, in seconds since 1970 on the scheduler's clock.
        """
        ...

    def records(self, run_id: str) -> Sequence[Finished]:
        """What has ended so far."""
        ...

    def states(self, keys: Iterable[str]) -> Mapping[str, str]:
        """Names of Prefect states other than Completed in which tasks ended, by key."""
        ...

    def running(self, keys: Iterable[str]) -> Mapping[str, tuple[str, float]]:
        """Which of these tasks run now: by key, the worker and for how many seconds."""
        ...

    def end(self, run_id: str) -> Ending:
        """Nothing more comes; the scheduler may forget the run. What is to be known of it."""
        ...


class DaskLink:
    """The link through a Dask client, to the plugin on its scheduler, which is put there if needed.

    Args:
        client: a `distributed.Client`.
        options: for the plugin, as for `OrchestratorPlugin`.

    Raises:
        Exception: whatever installing the plugin meets, such as a scheduler without this project.
    """

    def __init__(self, client: Any, **options: Any) -> None:
        from orchestrator_core.execute.dask import client as scheduler
        from orchestrator_prefect.sending.worker_side import install

        self._client, self._scheduler = client, scheduler
        # The flow's process plans and remembers; the scheduler need not load what it takes.
        scheduler.ensure_plugin(client, advisor=NoAdvisor(), **options)
        install(client)

    def mode(self) -> str:
        return str(self._scheduler.fetch_mode(self._client))

    def cluster(self) -> Cluster:
        found: Cluster = self._scheduler.fetch_cluster(self._client)
        return found

    def prepared(self) -> Mapping[str, Sequence[str]]:
        found: Mapping[str, Sequence[str]] = self._scheduler.fetch_prepared(self._client)
        return found

    def begin(
        self,
        run_id: str,
        batch: Sequence[Submission],
        slots: Mapping[str, Slot],
        holds: Mapping[str, Hold],
        plan: LivePlan | None,
        gone: Sequence[str] = (),
    ) -> float:
        tasks = [(submission.key, submission.name, submission.kind) for submission in batch]
        return float(self._scheduler.begin(self._client, run_id, tasks, slots, holds, plan, gone))

    def records(self, run_id: str) -> Sequence[Finished]:
        found = self._scheduler.records(self._client, run_id)
        return [(keyed.key, keyed.record) for keyed in found]

    def states(self, keys: Iterable[str]) -> Mapping[str, str]:
        from orchestrator_prefect.sending.worker_side import fetch_states

        return fetch_states(self._client, keys)

    def running(self, keys: Iterable[str]) -> Mapping[str, tuple[str, float]]:
        from orchestrator_prefect.sending.worker_side import fetch_running

        return fetch_running(self._client, keys)

    def end(self, run_id: str) -> Ending:
        ending: Ending = self._scheduler.end(self._client, run_id)
        return ending
