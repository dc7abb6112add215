"""The cluster on which the rest of a run is judged (stage 3, repair)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.crowded import Crowd
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import ENDED, RUNNING


def cluster_of_rest(basis: Basis, remains: Remains) -> Cluster:
    """The cluster with the stock that is left, and as large as what runs there at least."""
    cluster, r = basis.instance.cluster, remains.rest
    graph, p = basis.instance.graph, basis.problem
    threads, used = [0] * len(cluster), [dict[str, float]() for _ in cluster.workers]
    running = (r.status == RUNNING) | (r.busy_until > r.now)
    for unit in np.flatnonzero(running).tolist():
        b, m = int(r.worker[unit]), int(r.mode[unit])
        threads[b] += int(p.threads[m])
        for name, amount in graph.demand(m).resources.items():
            used[b][name] = used[b].get(name, 0.0) + amount
    room = np.array([worker.memory for worker in cluster.workers])
    if np.isfinite(room).any():
        room = Crowd(basis, remains).limit[:, 1]
    sends = remains.sends
    encoding = (sends.encoded > r.now) & (r.home[sends.unit] == sends.source)
    for b in (*r.taken.tolist(), *sends.source[encoding].tolist()):
        threads[b] += 1
    stock = dict(cluster.stock)
    begun = np.flatnonzero((r.status == RUNNING) | (r.status == ENDED) | (r.left >= 0))
    for unit in begun.tolist() if basis.consumes else ():
        for name, amount in graph.demand(int(r.mode[unit])).consumes.items():
            stock[name] = stock.get(name, 0.0) - amount
    return Cluster.from_matrices(
        [
            replace(
                worker,
                threads=max(worker.threads, threads[b]),
                memory=float(room[b]),
                resources={
                    **worker.resources,
                    **{k: max(v, worker.resources.get(k, 0.0)) for k, v in used[b].items()},
                },
            )
            for b, worker in enumerate(cluster.workers)
        ],
        latency=cluster.latency,
        seconds_per_byte=cluster.seconds_per_byte,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte,
        stock={name: max(0.0, amount) for name, amount in stock.items()},
    )
