"""A made-up world with known speeds, and what an orchestrator would observe in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Floats, TaskGraph

SPEEDS = {"fast": 4.0, "middle": 2.0, "slow": 1.0}
WORKERS = (("w0", "fast"), ("w1", "middle"), ("w2", "slow"), ("w3", "slow"))


@dataclass
class World:
    """Tasks of several kinds whose work varies within the kind; each costs an overhead as well.

    A task of `work` seconds takes ``work / speed``, a little noise, and `overhead` (drawn from an
    interval) seconds. Whoever is free first takes the next task, as in Dask.
    """

    kinds: list[str]
    work: Floats
    rng: np.random.Generator
    overhead: tuple[float, float] = (0.02, 0.05)
    noise: float = 0.03

    @classmethod
    def make(
        cls,
        seed: int,
        *,
        bases: tuple[float, ...] = (0.4, 1.0, 4.0, 16.0),
        tasks: int = 60,
        within: float = 0.2,
    ) -> World:
        rng = np.random.default_rng(seed)
        kinds = [f"kind{i % len(bases)}" for i in range(tasks)]
        work = np.array([bases[i % len(bases)] for i in range(tasks)])
        return cls(kinds, work * np.exp(rng.normal(0.0, within, tasks)), rng)

    def run(self, run_id: str = "") -> list[Observation]:
        free = np.zeros(len(WORKERS))
        observed = []
        for i in self.rng.permutation(len(self.work)).tolist():
            w = int(np.argmin(free))
            worker, kind = WORKERS[w]
            seconds = self.work[i] / SPEEDS[kind] * np.exp(self.rng.normal(0.0, self.noise))
            seconds += self.rng.uniform(*self.overhead)
            free[w] += seconds
            observed.append(
                Observation(f"t{i}", self.kinds[i], worker, kind, float(seconds), 0.0, run_id)
            )
        return observed

    def truth(self) -> Floats:
        """(tasks, workers) the expected seconds."""
        speeds = np.array([SPEEDS[kind] for _, kind in WORKERS])
        return self.work[:, None] / speeds[None, :] + float(np.mean(self.overhead))

    def graph(self) -> TaskGraph:
        builder = TaskGraph.build()
        for i, kind in enumerate(self.kinds):
            builder.task(f"t{i}", kind=kind)
        return builder.done()


def cluster(**speeds: float) -> Cluster:
    """The world's workers; declared speeds by kind, 1 where none is given."""
    return Cluster([Worker(name, kind=kind, speed=speeds.get(kind, 1.0)) for name, kind in WORKERS])


def observe(
    task: str,
    worker_kind: str,
    seconds: float,
    nbytes: float = 0.0,
    run_id: str = "",
    memory: float | None = None,
) -> Observation:
    """An observation of a task named ``kind-number``."""
    worker = f"a-{worker_kind}"
    return Observation(
        task, task.split("-")[0], worker, worker_kind, seconds, nbytes, run_id, memory
    )
