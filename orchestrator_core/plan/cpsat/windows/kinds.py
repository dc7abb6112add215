"""The kinds of windows: which tasks are freed together, around a critical one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.cpsat.windows.order_graph import OrderGraph, order_graph
from orchestrator_core.plan.cpsat.windows.timeline import Mask, Timeline


@dataclass(frozen=True)
class Scene:
    """A schedule, looked at for where to open a window."""

    line: Timeline

    @cached_property
    def arcs(self) -> Ints:
        """(2, a) between items: precedence and capacity handed on."""
        return self._graph.arcs

    @cached_property
    def _graph(self) -> OrderGraph:
        return order_graph(self.line, np.zeros(0, dtype=np.int64))

    @cached_property
    def slack(self) -> Floats:
        """(n,) seconds that a task can be later without a later last end."""
        n = self.line.n_tasks
        through = self._graph.head + self._graph.tail
        return np.asarray(self.line.makespan - through[:n], dtype=np.float64)

    @cached_property
    def critical(self) -> Ints:
        """Tasks without slack, by start; at least one."""
        least = float(self.slack.min())
        found = np.flatnonzero(self.slack <= least + 100 * self.line.late)
        return found[np.argsort(self.line.start[found], kind="stable")]

    @cached_property
    def middle(self) -> Floats:
        """(n,) seconds, half-way between start and end."""
        n = self.line.n_tasks
        return np.asarray((self.line.start[:n] + self.line.end[:n]) / 2)

    @cached_property
    def traders(self) -> Mask:
        """(n,) tasks that may take more of the stock, or less, than they do."""
        graph, problem = self.line.instance.graph, self.line.problem
        takes = np.array([sum(demand.consumes.values()) for demand in graph.demands])
        by_mode = takes[graph.demand_of]
        least = np.minimum.reduceat(by_mode, graph.mode_ptr[:-1])[problem.task]
        most = np.maximum.reduceat(by_mode, graph.mode_ptr[:-1])[problem.task]
        return np.asarray(most > least)

    @cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """(pointers, tasks): those joined to a task by an arc, in either direction."""
        n = self.line.n_tasks
        arcs = self.arcs[:, (self.arcs < n).all(axis=0)]
        both = np.unique(np.concatenate([arcs, arcs[::-1]], axis=1), axis=1)
        counts = np.bincount(both[0], minlength=n)
        return np.concatenate([[0], np.cumsum(counts)]), both[1]


Kind = Callable[[Scene, int, int, np.random.Generator], Ints]
"""(scene, a critical task, how many tasks, random) -> the tasks to free, at most so many."""


def nearest(scene: Scene, moment: float, size: int, among: Mask | None = None) -> Ints:
    """The tasks closest in time to a moment (seconds); ties by position."""
    distance = np.abs(scene.middle - moment)
    if among is not None:
        distance = np.where(among, distance, np.inf)
        size = min(size, int(among.sum()))
    size = min(size, len(distance))
    if size == len(distance):
        return np.arange(size)
    return np.sort(np.argpartition(distance, size - 1)[:size])


def time_window(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """All that runs around a moment, the critical task within or near."""
    length = scene.line.end[task] - scene.line.start[task]
    return nearest(scene, float(scene.middle[task] + rng.normal() * length), size)


def critical_chain(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """A piece of the critical path and, by random choice, what is joined to it by an arc."""
    chain = scene.critical
    at = int(np.searchsorted(scene.line.start[chain], scene.line.start[task]))
    length = max(1, size // 2)
    begin = max(0, min(at - int(rng.integers(0, length)), len(chain) - length))
    piece = chain[begin : begin + length]
    pointers, tasks = scene.neighbours
    around = np.unique(
        np.concatenate([tasks[pointers[t] : pointers[t + 1]] for t in piece.tolist()])
    )
    around = np.setdiff1d(around, piece)
    more = rng.permutation(around)[: size - len(piece)]
    return np.union1d(piece, more)


def worker_pair(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """What two workers do around a moment; one of them does the critical task."""
    here = int(scene.line.worker[task])
    others = np.setdiff1d(scene.line.worker, here)
    if not len(others):
        return time_window(scene, task, size, rng)
    pair = np.array([here, int(rng.choice(others))])
    return nearest(scene, float(scene.middle[task]), size, np.isin(scene.line.worker, pair))


def worker_kind(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """What the workers of one kind do around a moment."""
    names = [worker.kind for worker in scene.line.instance.cluster.workers]
    here = names[int(scene.line.worker[task])]
    alike = np.array([name == here for name in names])
    return nearest(scene, float(scene.middle[task]), size, alike[scene.line.worker])


def resource_peak(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """Users of a scarce resource around a moment; tasks that take none of it stay."""
    groups = scene.line.uses[0]
    mine = np.unique(groups[scene.line.uses[1] == task])
    if not len(mine):
        return time_window(scene, task, size, rng)
    kinds = len(scene.line.supply) // scene.line.problem.n_workers
    alike = groups % kinds == int(rng.choice(mine)) % kinds
    users = np.zeros(len(scene.line.start), dtype=bool)
    users[scene.line.uses[1, alike]] = True
    return nearest(scene, float(scene.middle[task]), size, users[: scene.line.n_tasks])


def stock_trade(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """Tasks around a moment, and others at any time that could leave them more of the stock."""
    near = nearest(scene, float(scene.middle[task]), max(2, size // 2))
    others = np.setdiff1d(np.flatnonzero(scene.traders), near)
    return np.union1d(near, rng.permutation(others)[: size - len(near)])


def connected(scene: Scene, task: int, size: int, rng: np.random.Generator) -> Ints:
    """A random connected part of the graph, grown from the critical task, near in time."""
    pointers, tasks = scene.neighbours
    inside, border = {task}, [task]
    while border and len(inside) < size:
        t = border[int(rng.integers(0, len(border)))]
        new = [x for x in tasks[pointers[t] : pointers[t + 1]].tolist() if x not in inside]
        if not new:
            border.remove(t)
            continue
        distance = np.abs(scene.middle[new] - scene.middle[task])
        near = np.argsort(distance, kind="stable")[: max(1, len(new) // 2)]
        chosen = new[int(rng.choice(near))]
        inside.add(chosen)
        border.append(chosen)
    return np.array(sorted(inside), dtype=np.int64)


KINDS: dict[str, Kind] = {
    "time": time_window,
    "chain": critical_chain,
    "pair": worker_pair,
    "kind": worker_kind,
    "resource": resource_peak,
    "stock": stock_trade,
    "graph": connected,
}
"""By name."""
