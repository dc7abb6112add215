"""Observations as columns: the first step of learning. Drops what cannot be a duration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.observation import Observation
from orchestrator_core.graph.amounts import Amounts
from orchestrator_core.graph.task_graph import Floats, Ints

HALF_LIFE = 8.0
"""Runs after which an observation counts half."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Usable observations; n observations.

    Attributes:
        kinds, worker_kinds: the different ones, sorted; `kind` and `worker` (n,) point into them.
        tasks: the different (kind, task name), sorted by kind; `task` (n,) points into it, and
            `kind_of_task` says the kind of each.
        names: the different (worker kind, worker name), sorted; `name` (n,) points into it.
        run: (n,) number of the run. age: (n,) runs of the kind that came after it.
        seconds: (n,) durations, finite and > 0. nbytes: (n,) sizes, NaN where not known.
        memory: (n,) bytes taken while running, NaN where not known. device: (n,) the same on an
            accelerator. setup: (n,) seconds before the work, such as compiling, likewise.
        overhead: (n,) part of `seconds` around the task's own code, NaN where nobody measured.
        trust: (n,) in (0, 1]: less for older runs.
        features: by name, (n,) the logarithm of each, NaN where it was not given.
    """

    kinds: tuple[str, ...]
    worker_kinds: tuple[str, ...]
    tasks: tuple[tuple[str, str], ...]
    kind: Ints
    worker: Ints
    task: Ints
    kind_of_task: Ints
    names: tuple[tuple[str, str], ...]
    name: Ints
    run: Ints
    age: Ints
    seconds: Floats
    nbytes: Floats
    memory: Floats
    device: Floats
    setup: Floats
    overhead: Floats
    trust: Floats
    features: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.seconds)

    def work(self, overhead: Floats) -> Floats:
        """(n,) seconds without the overhead: as it was measured, else (kinds,) `overhead`."""
        unknown = np.isnan(self.overhead)
        return self.seconds - np.where(unknown, overhead[self.kind], self.overhead)

    def thinned(self, most: int) -> Columns:
        """Every so many tasks with all their observations, so that about `most` of these remain."""
        every = -(-len(self) // most) if len(self) else 1
        kept = self.task % every == 0
        rows = ("kind", "worker", "name", "run", "age", "seconds", "overhead", "trust")
        sizes = ("nbytes", "memory", "device", "setup")
        chosen = {name: getattr(self, name)[kept] for name in (*rows, *sizes)}
        return replace(
            self,
            tasks=self.tasks[::every],
            task=self.task[kept] // every,
            kind_of_task=self.kind_of_task[::every],
            features={name: column[kept] for name, column in self.features.items()},
            **chosen,
        )

    def with_workers(self, kinds: Sequence[str]) -> Columns:
        """With another kind of worker for each of `names`.

        Where it is another one, observations age twice as fast: how fast a single machine is, with
        what else runs there, changes more often than what machines of a kind can do.
        """
        worker_kinds = tuple(sorted(set(kinds)))
        at = {kind: i for i, kind in enumerate(worker_kinds)}
        worker: Ints = np.array([at[kind] for kind in kinds], dtype=np.int64)[self.name]
        changed = [new != kind for new, (kind, _) in zip(kinds, self.names, strict=True)]
        fades = np.array(changed, dtype=bool)[self.name]
        trust = np.where(fades, self.trust**2, self.trust)
        return replace(self, worker_kinds=worker_kinds, worker=worker, trust=trust)


def columns_of(observations: Iterable[Observation]) -> Columns:
    """The usable ones among these; of each kind, runs age as they come: the newest first."""
    usable = [o for o in observations if math.isfinite(o.seconds) and o.seconds > 0]
    ages: dict[str, dict[str, int]] = {}
    for o in usable:
        runs = ages.setdefault(o.kind, {})
        runs.setdefault(o.run_id, len(runs))
    usable.sort(
        key=lambda o: (
            *(o.kind, o.task, o.worker_kind),
            *(ages[o.kind][o.run_id], o.seconds, o.worker),
        )
    )
    kinds = tuple(sorted({o.kind for o in usable}))
    worker_kinds = tuple(sorted({o.worker_kind for o in usable}))
    tasks = tuple(sorted({(o.kind, o.task) for o in usable}))
    names = tuple(sorted({(o.worker_kind, o.worker) for o in usable}))
    runs_seen = sorted({o.run_id for o in usable})
    kind_at = {kind: i for i, kind in enumerate(kinds)}
    worker_at = {kind: i for i, kind in enumerate(worker_kinds)}
    task_at = {task: i for i, task in enumerate(tasks)}
    name_at = {name: i for i, name in enumerate(names)}
    run_at = {run: i for i, run in enumerate(runs_seen)}
    age = np.array([ages[o.kind][o.run_id] for o in usable], dtype=np.int64)
    nbytes = np.array([o.nbytes for o in usable], dtype=np.float64)
    memory = np.array([o.memory_peak for o in usable], dtype=np.float64)
    device = np.array([o.device_memory for o in usable], dtype=np.float64)
    setup = np.array([o.setup_seconds for o in usable], dtype=np.float64)
    return Columns(
        kinds=kinds,
        worker_kinds=worker_kinds,
        tasks=tasks,
        kind=np.array([kind_at[o.kind] for o in usable], dtype=np.int64),
        worker=np.array([worker_at[o.worker_kind] for o in usable], dtype=np.int64),
        task=np.array([task_at[o.kind, o.task] for o in usable], dtype=np.int64),
        kind_of_task=np.array([kind_at[kind] for kind, _ in tasks], dtype=np.int64),
        names=names,
        name=np.array([name_at[o.worker_kind, o.worker] for o in usable], dtype=np.int64),
        run=np.array([run_at[o.run_id] for o in usable], dtype=np.int64),
        age=age,
        seconds=np.array([o.seconds for o in usable], dtype=np.float64),
        nbytes=_sizes(nbytes),
        memory=_sizes(memory),
        device=_sizes(device),
        setup=_sizes(setup),
        overhead=_overheads(usable),
        trust=0.5 ** (age / HALF_LIFE),
        features=_features(usable),
    )


def _features(usable: Sequence[Observation]) -> dict[str, Floats]:
    """By name, (n,); tasks of a run often share them."""
    places: dict[Amounts, int] = {}
    place = np.array([places.setdefault(o.features, len(places)) for o in usable], dtype=np.int64)
    names = sorted({name for features in places for name in features})
    with_name = {name: [each.get(name, math.nan) for each in places] for name in names}
    return {name: np.log(np.array(values))[place] for name, values in with_name.items()}


def _overheads(usable: Sequence[Observation]) -> Floats:
    """(n,) finite, in [0, seconds], or NaN."""
    told = np.array([o.overhead_seconds for o in usable], dtype=np.float64)
    seconds = np.array([o.seconds for o in usable], dtype=np.float64)
    return np.where(np.isfinite(told), np.clip(told, 0.0, seconds), np.nan)


def _sizes(told: Floats) -> Floats:
    """(n,) finite, >= 0, or NaN."""
    return np.where(np.isfinite(told) & (told >= 0), told, np.nan)
