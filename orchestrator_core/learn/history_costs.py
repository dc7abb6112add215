"""HistoryCosts: a cost model made of what was observed. Plain numbers, frozen, JSON both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import msgspec
import numpy as np

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats, Ints, TaskGraph
from orchestrator_core.learn.learned import (
    FeatureCosts,
    KindCosts,
    NamedWorker,
    WorkerCosts,
)
from orchestrator_core.learn.slowness import UNSEEN_WORKER, slowness_of

FORMAT = "orchestrator.history-costs/2"

_LONGEST = 40.0
"""Log seconds are kept within this of 0, so that no prediction overflows."""


@dataclass(frozen=True)
class HistoryCosts:
    """A `CostModel` of what was learned; `estimator.fit` makes it.

    A task takes ``overhead + exp(kind + task + worker kind + (kind, worker kind))`` seconds, with
    an overhead of the kind, or of kind and worker kind where it was measured; the features of the
    task add to its part where they matter. What was never seen adds nothing to the sum and
    something to the spread. Kinds of tasks that were never seen are not known (NaN).

    Attributes:
        kinds: sorted by name. workers: sorted by kind.
        named: the workers that were seen to differ from their kind.
        interaction: standard deviation of what is special to a kind on a worker kind.
    """

    kinds: tuple[KindCosts, ...] = ()
    workers: tuple[WorkerCosts, ...] = ()
    interaction: float = 0.0
    named: tuple[NamedWorker, ...] = ()

    def distinguish(self, cluster: Cluster) -> Cluster:
        """The cluster with a finer kind for each worker that was seen to differ from its kind.

        All others, and names that were never seen, stay what they are.
        """
        kinds = [self._finer_kind(worker) for worker in cluster.workers]
        if kinds == [worker.kind for worker in cluster.workers]:
            return cluster
        return Cluster.from_matrices(
            [replace(w, kind=kind) for w, kind in zip(cluster.workers, kinds, strict=True)],
            latency=cluster.latency,
            seconds_per_byte=cluster.seconds_per_byte,
            encode_seconds_per_byte=cluster.encode_seconds_per_byte,
            stock=cluster.stock,
        )

    def knows(self, graph: TaskGraph) -> bool:
        """Was every kind of the graph's tasks observed at least once?"""
        return all(kind in self._kind for kind in graph.kinds)

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        """(modes, workers) seconds, finite and > 0; NaN for tasks of a kind never observed.

        A moldable task was observed in a mode that nobody noted, taken to be its first; other
        modes differ from that as their stated seconds do, or not at all.
        """
        effect, variance = self._on_workers(graph, cluster)
        task, task_variance, _ = self._of_tasks(graph)
        overhead = self._overheads(graph.kinds, cluster)
        log = effect[graph.kind_of] + task[:, None]
        if quantile != 0.5:
            spread = np.sqrt(variance[graph.kind_of] + task_variance[:, None])
            log += NormalDist().inv_cdf(quantile) * spread
        work = np.exp(np.clip(log, -_LONGEST, _LONGEST))
        seconds: Floats = overhead[graph.kind_of] + work
        if graph.n_modes == len(graph):
            return seconds
        return seconds[graph.mode_task] * _mode_factors(graph)[:, None]

    def output_bytes(self, graph: TaskGraph) -> Floats:
        """(tasks,) bytes; NaN where not known."""
        _, _, sizes = self._of_tasks(graph)
        kinds = np.array([self._value(kind, "nbytes") for kind in graph.kinds])
        return np.where(np.isnan(sizes), kinds[graph.kind_of], sizes)

    def memory_bytes(self, graph: TaskGraph) -> Floats:
        """(tasks,) bytes that each takes while it runs, beside its inputs; NaN where not known."""
        kinds = np.array([self._value(kind, "memory") for kind in graph.kinds])
        return kinds[graph.kind_of]

    def device_bytes(self, graph: TaskGraph) -> Floats:
        """(tasks,) bytes that each needs on an accelerator while it runs, with its inputs; NaN
        where not known."""
        kinds = np.array([self._value(kind, "device_memory") for kind in graph.kinds])
        return kinds[graph.kind_of]

    def setup_seconds(self, kinds: Sequence[str]) -> dict[str, float]:
        """Seconds for which a process compiles before its first task of a kind, where it does."""
        known = {kind: self._value(kind, "setup") for kind in kinds}
        return {kind: seconds for kind, seconds in known.items() if seconds > 0}

    @staticmethod
    def from_json(text: str | bytes) -> HistoryCosts:
        """The costs that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON.
        """
        try:
            wire = msgspec.json.decode(text, type=_Wire)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise InvalidFormat(f"no learned costs in JSON ({FORMAT}): {error}") from None
        if wire.format != FORMAT:
            raise InvalidFormat(f"costs of format {wire.format!r}; this version reads {FORMAT!r}")
        return wire.costs

    def to_json(self) -> bytes:
        """JSON; UTF-8."""
        return msgspec.json.encode(_Wire(FORMAT, self))

    def __repr__(self) -> str:
        samples = sum(kind.samples for kind in self.kinds)
        return (
            f"HistoryCosts({len(self.kinds)} kinds on {len(self.workers)} worker kinds, "
            f"{samples} observations)"
        )

    @cached_property
    def _kind(self) -> dict[str, KindCosts]:
        return {kind.kind: kind for kind in self.kinds}

    @cached_property
    def _finer(self) -> dict[tuple[str, str], str]:
        return {(each.kind, each.name): each.finer for each in self.named}

    def _finer_kind(self, worker: Worker) -> str:
        own, plain = (worker.kind, worker.name), (plain_kind(worker.kind), worker.name)
        return self._finer.get(own) or self._finer.get(plain) or worker.kind

    @cached_property
    def _tasks(self) -> dict[str, dict[str, int]]:
        """Where each named task of a kind is in `_task_columns`."""
        places: dict[str, dict[str, int]] = {}
        at = 0
        for kind in self.kinds:
            places[kind.kind] = {task.name: at + i for i, task in enumerate(kind.tasks)}
            at += len(kind.tasks)
        return places

    @cached_property
    def _task_columns(self) -> Floats:
        """Log seconds, variance and bytes of all named tasks; (tasks, 3)."""
        rows = [
            (task.log_seconds, task.variance, np.nan if task.nbytes is None else task.nbytes)
            for kind in self.kinds
            for task in kind.tasks
        ]
        return np.array(rows, dtype=np.float64).reshape(len(rows), 3)

    def _value(self, kind: str, field: str) -> float:
        known = self._kind.get(kind)
        value = None if known is None else getattr(known, field)
        return float("nan") if value is None else float(value)

    def _overheads(self, kinds: Sequence[str], cluster: Cluster) -> Floats:
        """(kinds, workers) seconds."""
        seconds = np.empty((len(kinds), len(cluster)))
        for row, kind in enumerate(kinds):
            on = dict(self._kind[kind].overheads) if kind in self._kind else {}
            usual = self._value(kind, "overhead")
            seconds[row] = [
                on.get(worker.kind, on.get(plain_kind(worker.kind), usual))
                for worker in cluster.workers
            ]
        return seconds

    def _of_tasks(self, graph: TaskGraph) -> tuple[Floats, Floats, Floats]:
        """(tasks,) log seconds, their variance, and bytes of each task beyond its kind."""
        scaled, unsure = self._by_features(graph)
        tables = [self._tasks.get(kind, {}) for kind in graph.kinds]
        if any(tables):
            places: Ints = np.fromiter(
                (
                    tables[kind].get(name, -1)
                    for name, kind in zip(graph.names, graph.kind_of.tolist(), strict=True)
                ),
                dtype=np.int64,
                count=len(graph),
            )
        else:
            places = np.full(len(graph), -1, dtype=np.int64)
        between = np.array([self._value(kind, "between") for kind in graph.kinds])
        found = np.vstack([self._task_columns, [0.0, 0.0, np.nan]])[places]
        noise = np.array([self._value(kind, "noise") for kind in graph.kinds])
        variance = np.where(places < 0, between[graph.kind_of] ** 2, found[:, 1])
        variance += noise[graph.kind_of] ** 2 + unsure
        return found[:, 0] + scaled, variance, found[:, 2]

    def _by_features(self, graph: TaskGraph) -> tuple[Floats, Floats]:
        """(tasks,) log seconds and variance that their features add."""
        added, variance = np.zeros(len(graph)), np.zeros(len(graph))
        for name, of_kind in self._telling.items():
            given = np.array([features.get(name, np.nan) for features in graph.feature_sets])
            none = FeatureCosts(name, 0.0, 0.0, 0.0, 0.0, 0.0)
            found = [of_kind.get(kind, none) for kind in graph.kinds]
            values = [(each.exponent, each.variance, each.reference) for each in found]
            exponent, unsure, reference = np.array(values).T[:, graph.kind_of]
            beyond = np.nan_to_num(np.log(given)[graph.features_of] - reference)
            added += exponent * beyond
            variance += unsure * beyond**2
        return added, variance

    @cached_property
    def _telling(self) -> dict[str, dict[str, FeatureCosts]]:
        """By feature and kind, those that matter."""
        found: dict[str, dict[str, FeatureCosts]] = {}
        for kind in self.kinds:
            for each in kind.features:
                if each.exponent:
                    found.setdefault(each.name, {})[kind.kind] = each
        return found

    def _on_workers(self, graph: TaskGraph, cluster: Cluster) -> tuple[Floats, Floats]:
        """(kinds, workers) log seconds and their variance, for a task like its kind's others."""
        slowness, place = slowness_of(cluster, self.workers)
        level = np.array([self._value(kind, "log_seconds") for kind in graph.kinds])
        effect = level[:, None] + slowness[None, :]
        none = (np.nan,) * len(self.workers)
        known = [self._kind[kind].unsure if kind in self._kind else none for kind in graph.kinds]
        unsure = np.array([(*row, UNSEEN_WORKER) for row in known]).reshape(len(known), -1)
        spread = unsure[:, place] + self.interaction**2
        kinds_of_workers = [worker.kind for worker in cluster.workers]
        for row, name in enumerate(graph.kinds):
            kind = self._kind.get(name)
            pairs = {pair.worker_kind: pair for pair in kind.pairs} if kind else {}
            for column, worker_kind in enumerate(kinds_of_workers):
                pair = pairs.get(worker_kind) or pairs.get(plain_kind(worker_kind))
                if pair is not None:
                    effect[row, column] += pair.log_seconds
                    spread[row, column] += pair.variance - self.interaction**2
        return effect, spread


def _mode_factors(graph: TaskGraph) -> Floats:
    """(modes,) stated seconds over those of the task's first mode; 1 where either is not stated."""
    first = graph.mode_seconds[graph.mode_ptr[:-1]][graph.mode_task]
    stated = (graph.mode_seconds > 0) & (first > 0)
    return np.where(stated, graph.mode_seconds / np.where(stated, first, 1.0), 1.0)


class _Wire(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    costs: HistoryCosts
