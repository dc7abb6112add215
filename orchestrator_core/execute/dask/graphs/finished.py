"""Finished: a run that is over, as it is left by the event loop; a `RunRecord` in the making.

Plain data that can be pickled, so that the record is made in whatever process writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from orchestrator_core.execute.dask.graphs.ended import Ended, as_record
from orchestrator_core.execute.dask.graphs.snapshot import Snapshot
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.signature import cluster_signature, graph_signature


@dataclass(frozen=True, slots=True)
class Finished:
    """What is known of a run that is over.

    Attributes:
        snapshot, cluster, started_at, plan: as in `GraphRun`.
        ended: the executions. outcomes: ``ok``, ``failed``, ``cancelled``: how its tasks ended.
        dropped: the tasks that nobody wanted any more before they had ended.
        mode, reason, notes, measured, others: as in `RunRecord`.
        signatures: of graph and cluster, if advice was given on them; empty where not.
    """

    run_id: str
    snapshot: Snapshot
    cluster: Cluster
    started_at: float
    ended: Sequence[Ended]
    outcomes: Set[str]
    mode: str
    reason: str
    notes: tuple[str, ...]
    plan: PlanRecord | None
    signatures: tuple[str, str]
    measured: Cluster | None = None
    dropped: Sequence[Key] = ()
    others: float = 0.0

    def __len__(self) -> int:
        """How many executions there were."""
        return len(self.ended)

    def record(self) -> RunRecord:
        """What happened; takes microseconds for each task, with their names tens of them."""
        snapshot, cluster = self.snapshot, self.cluster
        tasks = tuple(sorted(self._tasks(), key=lambda record: (record.start, record.task)))
        graph_key, cluster_key = self.signatures
        return RunRecord(
            run_id=self.run_id,
            flow=snapshot.flow,
            started_at=self.started_at,
            seconds=max((record.end for record in tasks), default=0.0),
            mode=self.mode,
            reason=self.reason,
            graph=snapshot.graph,
            cluster=cluster,
            graph_signature=graph_key or graph_signature(snapshot.graph).digest,
            cluster_signature=cluster_key or cluster_signature(cluster).digest,
            plan=self.plan,
            tasks=tasks,
            status=next((s for s in ("failed", "cancelled") if s in self.outcomes), "ok"),
            notes=self.notes,
            measured=self.measured,
            with_stored=snapshot.with_stored if self.plan and snapshot.stored else None,
            dropped=tuple([snapshot.names[snapshot.place[key]] for key in self.dropped]),
        ).beside(self.others)

    def _tasks(self) -> Iterator[TaskRecord]:
        """The records by the names of the tasks, even if these have none on the event loop."""
        places, names, kinds = self.snapshot.place, self.snapshot.names, self.snapshot.kinds
        for ended in self.ended:
            place = places[ended[0]]
            yield as_record((names[place], kinds[place]), ended)
