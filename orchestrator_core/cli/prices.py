"""The prices of a recorded run, by what all runs in the database taught."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Worker
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.store.base import Store


def prices_of(store: Store, run: RunRecord, others: Sequence[Worker] = ()) -> RunPrices:
    """The prices of the run, also for `others` than its own workers.

    Raises:
        InvalidInstance: if a task of the run is not known. StoreError: if the store has no answer.
    """
    from orchestrator_core.learn.estimator import fit

    speeds = {plain_kind(worker.kind): worker.speed for worker in (*others, *run.cluster.workers)}
    return RunPrices.of(run, fit(store.observations(run.graph.kinds), speeds))
