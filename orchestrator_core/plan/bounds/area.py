"""The area bound: the work that workers must share, as a linear program (stage 3).

Each task is split over workers; a worker takes no more work than it has threads times time. That
is the relaxation of R||Cmax by J. K. Lenstra, D. B. Shmoys and E. Tardos (1990), with threads and
resources as capacities. Windows make it stronger: what cannot start on a worker before s, and has
at least u behind it, must fit there between s and the makespan minus u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

LP_SIZE = 12_000
"""Most tasks x workers for the linear program; beyond, it is solved for a sample."""

ROUND_SIZE = 4_000
"""Tasks x workers of all linear programs together; each after the first adds broken windows."""

MOST_ROUNDS = 5

_THRESHOLDS = 24
_SAMPLE = 8_000
_CHUNK = 65_536


class AreaBound(NamedTuple):
    seconds: float
    method: str


class Solved(NamedTuple):
    """A solved linear program: what it proves, its multipliers, one for each window, and the (n, w)
    split of each task over the workers."""

    bound: float
    multipliers: Floats
    split: Floats


class Window(NamedTuple):
    """Work of capacity `kind` on worker `worker` of tasks with head >= `since`, tail >= `until`."""

    kind: int
    worker: int
    since: float
    until: float


@dataclass(frozen=True)
class Area:
    """Work of tasks on workers.

    Attributes:
        load: (kinds, n, w) seconds for which a task alone would take all of a worker's threads
            (kind 0) or of a resource (the others); infinity where it may not run.
        head, tail: (n, w) or (n, 1) seconds that must pass before its start and after its end.
    """

    load: Floats
    head: Floats
    tail: Floats

    @staticmethod
    def of(problem: Problem, head: Floats, tail: Floats) -> Area:
        """The work of a problem that is small enough for the linear program."""
        kinds = [problem.threads[:, None] / problem.worker_threads]
        for d in range(problem.demand.shape[1]):
            # Where a mode may run, the supply suffices; elsewhere the quotient is not looked at.
            supply = np.maximum(problem.supply[:, d], 1e-300)
            kinds.append(problem.demand[:, d : d + 1] / supply)
        each = [_times(problem.seconds, share) for share in kinds]
        load = np.stack([over_modes(problem, np.minimum, work) for work in each])
        return Area(load, head, tail)


def _times(seconds: Floats, share: Floats) -> Floats:
    eligible = np.isfinite(seconds)
    return np.where(eligible, np.where(eligible, seconds, 0.0) * share, np.inf)


def area_bound(problem: Problem, head: Floats, tail: Floats, known: float) -> AreaBound:
    """The bound; `known` is a lower bound on the makespan that is proven already, in seconds."""
    if problem.n_tasks * problem.n_workers > LP_SIZE:
        return AreaBound(_by_sample(problem), "total work (linear program of a sample)")
    area = Area.of(problem, head, tail)
    kinds, n, w = area.load.shape
    windows = [Window(c, b, 0.0, 0.0) for c in range(kinds) for b in range(w)]
    windows += _broken(area, _cheapest_split(area), known, windows)
    best = AreaBound(0.0, "total work")
    for _ in range(max(1, min(MOST_ROUNDS, ROUND_SIZE // (n * w)))):
        solved = _solve(area, windows, max(known, best.seconds))
        if solved is None:
            break
        if solved.bound > best.seconds:
            name = "work in windows" if len(windows) > kinds * w else "total work"
            best = AreaBound(solved.bound, f"{name} (linear program)")
        fresh = _broken(area, solved.split, max(known, best.seconds), windows)
        if not fresh:
            break
        windows = windows + fresh
    return best


def _solve(area: Area, windows: list[Window], known: float) -> Solved | None:
    """The linear program of these windows, or None if the solver gives up."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array

    _, n, w = area.load.shape
    task, worker = np.nonzero(np.isfinite(area.load[0]))
    column_of = np.full((n, w), -1, dtype=np.int64)
    column_of[task, worker] = np.arange(len(task))
    rows, columns, values = [], [], []
    for k, window in enumerate(windows):
        inside = np.flatnonzero(_inside(area, window) & (column_of[:, window.worker] >= 0))
        rows.append(np.full(len(inside), k))
        columns.append(column_of[inside, window.worker])
        values.append(area.load[window.kind, inside, window.worker])
    k, last = len(windows), len(task)
    rows.append(np.arange(k))
    columns.append(np.full(k, last))
    values.append(np.full(k, -1.0))
    at = (np.concatenate(rows), np.concatenate(columns))
    upper = csr_array(coo_array((np.concatenate(values), at), shape=(k, last + 1)))
    whole = csr_array(coo_array((np.ones(last), (task, np.arange(last))), shape=(n, last + 1)))
    offset = np.array([min(window.since + window.until, known) for window in windows])
    objective = np.zeros(last + 1)
    objective[last] = 1.0
    least = np.zeros(last + 1)
    least[last] = known
    answer = linprog(
        objective,
        A_ub=upper,
        b_ub=-offset,
        A_eq=whole,
        b_eq=np.ones(n),
        bounds=np.column_stack([least, np.full(last + 1, np.inf)]),
        method="highs-ds",
    )
    if answer.status != 0:
        return None
    split = np.zeros((n, w))
    split[task, worker] = answer.x[:last]
    multipliers = np.maximum(-answer.ineqlin.marginals, 0.0)
    if multipliers.sum() <= 0:
        return Solved(0.0, multipliers, split)  # what is known suffices for all of these windows
    multipliers /= multipliers.sum()
    return Solved(_dual_bound(area, windows, offset, multipliers), multipliers, split)


def _dual_bound(area: Area, windows: list[Window], offset: Floats, multipliers: Floats) -> float:
    """What any multipliers >= 0 with sum 1 prove: the windows' rows, summed with them, bound the
    makespan by the cheapest place of each task. The last digits are taken off for rounding."""
    price = np.zeros(area.load.shape[1:])
    for window, each in zip(windows, multipliers, strict=True):
        if each > 0:
            inside = _inside(area, window)
            load = area.load[window.kind, inside, window.worker]
            price[inside, window.worker] += each * np.where(np.isfinite(load), load, 0.0)
    price[~np.isfinite(area.load[0])] = np.inf
    return float(price.min(axis=1).sum() + multipliers @ offset) * (1.0 - 1e-11)


def _inside(area: Area, window: Window) -> NDArray[np.bool_]:
    b = min(window.worker, area.head.shape[1] - 1)
    return np.asarray((area.head[:, b] >= window.since) & (area.tail[:, b] >= window.until))


def _cheapest_split(area: Area) -> Floats:
    """(n, w) each task on the worker where it takes the least of the threads."""
    split = np.zeros(area.load.shape[1:])
    split[np.arange(len(split)), area.load[0].argmin(axis=1)] = 1.0
    return split


def _broken(area: Area, split: Floats, makespan: float, have: list[Window]) -> list[Window]:
    """New windows that the split exceeds most: of each worker, and of all workers together.

    The latter keep the program from moving work to and fro between workers, window by window.
    """
    found: dict[Window, None] = {}
    kinds, _, w = area.load.shape
    since, until = _thresholds(area.head), _thresholds(area.tail)
    room = np.maximum(makespan - (since[:, None] + until), 0.0)
    for c in range(kinds):
        load = np.where(split > 0, area.load[c], 0.0) * split
        together = -w * room
        for b in range(w):
            at = min(b, area.head.shape[1] - 1)
            late = (area.head[:, at, None] >= since).astype(np.float64)
            early = (area.tail[:, at, None] >= until) * load[:, b, None]
            taken = late.T @ early
            together += taken
            i, j = np.unravel_index(int(np.argmax(taken - room)), room.shape)
            if taken[i, j] > room[i, j] + 1e-6 * makespan:
                found[Window(c, b, float(since[i]), float(until[j]))] = None
        i, j = np.unravel_index(int(np.argmax(together)), room.shape)
        if together[i, j] > 1e-6 * makespan:
            for b in range(w):
                found[Window(c, b, float(since[i]), float(until[j]))] = None
    return [window for window in found if window not in have]


def _thresholds(values: Floats) -> Floats:
    different = np.unique(values)
    if len(different) <= _THRESHOLDS:
        return different
    return different[np.linspace(0, len(different) - 1, _THRESHOLDS).astype(np.int64)]


def _by_sample(problem: Problem) -> float:
    """The bound of the prices that fit a sample: any prices prove something."""
    price = thread_prices(problem)
    if price is None:
        return 0.0
    cheapest = np.zeros(len(problem.seconds))
    for first in range(0, len(cheapest), _CHUNK):
        rows = slice(first, first + _CHUNK)
        cheapest[rows] = priced(problem.seconds[rows], price).min(axis=1) * problem.threads[rows]
    return float(over_modes(problem, np.minimum, cheapest).sum()) * (1.0 - 1e-11)


def thread_prices(problem: Problem) -> Floats | None:
    """(w,) what a second of one thread is worth on each worker, all threads together 1.

    The multipliers of the linear program for a sample of the modes: at these prices, a task's
    cheapest worker is where it belongs if work alone decides. None if the solver gives up.
    """
    modes, w = problem.seconds.shape
    size = min(modes, max(64, _SAMPLE // w))
    sample = np.unique(np.linspace(0, modes - 1, size).astype(np.int64))
    share = problem.threads[sample, None] / problem.worker_threads
    load = _times(problem.seconds[sample], share)
    load = load[np.isfinite(load).any(axis=1)]
    nothing = np.zeros((len(load), 1))
    solved = _solve(Area(load[None], nothing, nothing), [Window(0, b, 0, 0) for b in range(w)], 0.0)
    return None if solved is None else solved.multipliers / problem.worker_threads


def priced(seconds: Floats, price: Floats) -> Floats:
    """`seconds` (n, w) times the price of each worker; infinity where a task may not run."""
    eligible = np.isfinite(seconds)
    return np.where(eligible, np.where(eligible, seconds, 0.0) * price, np.inf)
