"""Side: an instance as a beam sees it, from its beginning or, with time reversed, from its end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.area import thread_prices
from orchestrator_core.plan.bounds.prices import priced
from orchestrator_core.plan.bounds.state import State
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.engine.modes import best_seconds

CLASSES = 12
"""Most classes of tasks by what comes after them; each is looked at for every partial schedule."""


class Side(NamedTuple):
    """n single tasks, e edges, w workers, l threads of them all, k classes of tasks.

    Attributes:
        in_ptr, in_task, in_bytes, out_ptr, out_task: of the edges, as in `Problem`; from the end,
            consumers and producers change places.
        latency, per_byte: (w, w) seconds, and seconds per byte, from what is placed first.
        earliest: (n,) seconds before which a task does not start.
        seconds: (n, w) in the fastest mode; infinity where a task may not run.
        last: (n,) seconds from the end of a task to the end of the schedule, whatever is after it.
        after: (n, w) the same for what is at least after it if it ends on a worker.
        level, need: (n,) the class of each task, and (k,) the least `after` in each, ascending.
        price, worth: (w,) what a second of one thread is worth, all threads together 1, and (n,)
            what a task is worth where it is cheapest: no schedule is shorter than all worths.
        first: (w + 1,) worker b has the threads from ``first[b]`` up to, not including, the next;
            no more of them than there are tasks.
        kind: (w,) the same number for workers on which all tasks take equally long.
        code: (n,) random numbers; those of a set of tasks, combined by xor, stand for the set.
    """

    in_ptr: Ints
    in_task: Ints
    in_bytes: Floats
    out_ptr: Ints
    out_task: Ints
    latency: Floats
    per_byte: Floats
    earliest: Floats
    seconds: Floats
    last: Floats
    after: Floats
    level: Ints
    need: Floats
    price: Floats
    worth: Floats
    first: Ints
    kind: Ints
    code: Ints

    @property
    def n_tasks(self) -> int:
        return len(self.level)

    @property
    def n_threads(self) -> int:
        return int(self.first[-1])


def sides(problem: Problem, state: State) -> tuple[Side, Side]:
    """The instance from its beginning, and from its end, as far as schedules are shorter than the
    state's upper bound."""
    nothing = np.zeros(problem.n_tasks)
    into = (problem.in_ptr, problem.in_task, problem.in_bytes)
    out = (problem.out_ptr, problem.out_task, problem.out_bytes)
    links = problem.latency, problem.per_byte
    back = np.ascontiguousarray(links[0].T), np.ascontiguousarray(links[1].T)
    seconds = np.where(state.may, best_seconds(problem), np.inf)
    tail, head = (np.where(state.may, ahead, 0.0) for ahead in (state.tail, state.head))
    workers = _workers(problem, seconds)
    return (
        _side(into, out, links, seconds, problem.release, nothing, tail, workers),
        _side(out, into, back, seconds, nothing, problem.release, head, workers),
    )


def useful_threads(problem: Problem) -> Ints:
    """(w,) threads of each worker that could ever be busy together."""
    return np.minimum(problem.worker_threads, problem.n_tasks)


class _Workers(NamedTuple):
    """The part of a side that is the same in both directions of time."""

    price: Floats
    worth: Floats
    first: Ints
    kind: Ints
    code: Ints


def _workers(problem: Problem, seconds: Floats) -> _Workers:
    price = thread_prices(problem)
    if price is None:
        price = np.full(problem.n_workers, 1.0 / problem.worker_threads.sum())
    _, kind = np.unique(seconds, axis=1, return_inverse=True)
    code = np.random.default_rng(0).integers(1 << 62, size=problem.n_tasks)
    first = np.concatenate([[0], np.cumsum(useful_threads(problem))])
    return _Workers(price, priced(seconds, price).min(axis=1), first, kind.reshape(-1), code)


def _side(
    into: tuple[Ints, Ints, Floats],
    out: tuple[Ints, Ints, Floats],
    links: tuple[Floats, Floats],
    seconds: Floats,
    earliest: Floats,
    last: Floats,
    after: Floats,
    workers: _Workers,
) -> Side:
    least = np.where(np.isfinite(seconds), after, np.inf).min(axis=1)
    level, need = _levels(least)
    price, worth, first, kind, code = workers
    side = Side(
        *into, out[0], out[1], *links, earliest, seconds, last, after, level, need,
        price, worth, first, kind, code,
    )  # fmt: skip
    # All alike, so that one machine code does for both sides.
    return Side(*(frozen(column) for column in side))  # type: ignore[arg-type]


def _levels(after: Floats) -> tuple[Ints, Floats]:
    """The class of each task, and the least value in each."""
    need = np.unique(after)
    if len(need) > CLASSES:
        need = np.unique(np.quantile(after, np.linspace(0, 1, CLASSES), method="lower"))
    return np.searchsorted(need, after, side="right") - 1, need
