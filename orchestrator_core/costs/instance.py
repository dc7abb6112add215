"""Instance: a graph priced on a cluster (end of stage 2). Frozen, and all that a planner sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator_core.costs.feasible import check_feasible, eligible_pairs
from orchestrator_core.costs.given import check_costs, check_given, check_quantile
from orchestrator_core.costs.model import CostModel, GraphCosts
from orchestrator_core.errors import InvalidInstance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph

LONGEST = 1e150
"""Seconds of a task at most, where they are finite, and of a transfer: sums and squares of these
are numbers, too."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A task graph priced on a cluster; m modes, w workers.

    Attributes:
        graph: what is to run.
        cluster: on what.
        seconds: (m, w) duration of each mode on each worker; infinity where the mode may not run
            there or does not fit (threads, memory, resources, eligibility), so that
            ``seconds < inf`` is all that a planner needs to ask.

    Raises:
        InvalidInstance: for a wrong shape, NaN, negative seconds, or more than `LONGEST`, which
            transfers must not take either.
        InfeasibleInstance: if some task can run nowhere; the smallest cause is named.
    """

    graph: TaskGraph
    cluster: Cluster
    seconds: Floats

    def __post_init__(self) -> None:
        check_given(self.graph, self.cluster)
        try:
            seconds = np.array(self.seconds, dtype=np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidInstance(f"seconds: expected numbers, modes x workers ({error})") from None
        _check_seconds(self.graph, self.cluster, seconds)
        _check_transfers(self.graph, self.cluster)
        seconds[~eligible_pairs(self.graph, self.cluster)] = np.inf
        check_feasible(self.graph, self.cluster, seconds)
        seconds.flags.writeable = False
        object.__setattr__(self, "seconds", seconds)

    @staticmethod
    def price(
        graph: TaskGraph, cluster: Cluster, costs: CostModel | None = None, quantile: float = 0.5
    ) -> Instance:
        """The graph with the durations that a cost model believes in (default: the graph's own).

        Raises:
            InvalidInstance: if the model does not know a task; it is named. For a quantile that is
                not between 0 and 1.
        """
        check_given(graph, cluster)
        model = GraphCosts() if costs is None else costs
        check_costs(model)
        check_quantile(quantile)
        seconds = model.compute_seconds(graph, cluster, quantile)
        return Instance(graph, cluster, seconds)

    @staticmethod
    def from_arrays(
        durations: ArrayLike,
        edges: Iterable[tuple[int, int, float]],
        *,
        latency: ArrayLike = 0.0,
        seconds_per_byte: ArrayLike = 0.0,
        encode_seconds_per_byte: ArrayLike = 0.0,
        threads: ArrayLike = 1,
        memory: ArrayLike | None = None,
        task_threads: ArrayLike = 1,
        task_memory: ArrayLike = 0.0,
        output_bytes: ArrayLike = 0.0,
        release: ArrayLike = 0.0,
        deadline: ArrayLike = np.inf,
        count: ArrayLike = 1,
        task_names: Sequence[str] | None = None,
        worker_names: Sequence[str] | None = None,
    ) -> Instance:
        """An instance from plain arrays; n tasks, w workers.

        Args:
            durations: (n, w) seconds; infinity where a task may not run.
            edges: (producer, consumer, nbytes) with tasks by position, or (e, 3) of them.
            latency, seconds_per_byte, encode_seconds_per_byte: scalar or (w, w), source first.
            threads, memory: of the workers, scalar or (w,); memory None for no limit.
            task_threads, task_memory, output_bytes, release, deadline, count: scalar or (n,).
            task_names: default ``t0, t1, ...``. worker_names: default ``w0, w1, ...``.

        Raises:
            InvalidInput: naming what cannot be. InfeasibleInstance: if a task can run nowhere.
        """
        from orchestrator_core.costs.arrays import cluster_of, graph_of, matrix

        seconds = matrix(durations)
        graph = graph_of(
            len(seconds),
            edges,
            task_names,
            threads=task_threads,
            memory=task_memory,
            output_bytes=output_bytes,
            release=release,
            deadline=deadline,
            count=count,
        )
        cluster = cluster_of(
            seconds.shape[1],
            worker_names,
            threads,
            memory,
            latency=latency,
            seconds_per_byte=seconds_per_byte,
            encode_seconds_per_byte=encode_seconds_per_byte,
        )
        return Instance(graph, cluster, seconds)

    @staticmethod
    def from_json(text: str | bytes) -> Instance:
        """The instance that `to_json` wrote.

        Raises:
            InvalidInput: if the text is no such JSON, or holds no valid instance.
        """
        from orchestrator_core.costs.wire import decode_instance

        return decode_instance(text)

    def to_json(self) -> bytes:
        """JSON of graph, cluster and seconds; infinity is null; UTF-8."""
        from orchestrator_core.costs.wire import encode_instance

        return encode_instance(self)

    @cached_property
    def best_seconds(self) -> Floats:
        """(n,) the shortest duration of each task, over its modes and workers."""
        per_mode = self.seconds.min(axis=1)
        return np.minimum.reduceat(per_mode, self.graph.mode_ptr[:-1])

    @property
    def eligible(self) -> NDArray[np.bool_]:
        """(m, w) may the mode run on the worker?"""
        return np.isfinite(self.seconds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        return (
            self.graph == other.graph
            and self.cluster == other.cluster
            and np.array_equal(self.seconds, other.seconds)
        )

    def __hash__(self) -> int:
        return hash((self.graph, self.cluster))

    def __repr__(self) -> str:
        return f"Instance({self.graph!r} on {self.cluster!r})"


def _check_seconds(graph: TaskGraph, cluster: Cluster, seconds: Floats) -> None:
    expected = (graph.n_modes, len(cluster))
    if seconds.shape != expected:
        raise InvalidInstance(
            f"seconds has shape {seconds.shape}; {graph!r} on {cluster!r} needs {expected}"
        )
    wrong = ~(np.isposinf(seconds) | ((seconds >= 0) & (seconds <= LONGEST)))
    if wrong.any():
        mode, worker = np.argwhere(wrong)[0]
        task = graph.names[graph.mode_task[mode]]
        whose = f"the seconds of task {task!r} on worker {cluster.workers[worker].name!r} are"
        found = float(seconds[mode, worker])
        if np.isnan(found):
            raise InvalidInstance(
                f"{whose} not known; give seconds= to the task, or costs that know it"
            )
        raise InvalidInstance(
            f"{whose} {found:g}; they must be >= 0 and <= {LONGEST:g}, or infinity where it may "
            "not run"
        )


def _check_transfers(graph: TaskGraph, cluster: Cluster) -> None:
    if not len(graph.producer):
        return
    task = int(graph.producer[np.argmax(graph.output_bytes[graph.producer])])
    nbytes = float(graph.output_bytes[task])
    with np.errstate(over="ignore"):
        rate = cluster.seconds_per_byte + cluster.encode_seconds_per_byte
        longest = float((cluster.latency + nbytes * rate).max(initial=0.0))
    if longest > LONGEST:
        raise InvalidInstance(
            f"to send the {nbytes:g} bytes of task {graph.names[task]!r} takes {longest:g} s; it "
            f"must take <= {LONGEST:g} s"
        )
