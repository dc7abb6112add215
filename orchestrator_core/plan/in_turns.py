"""in_turns: schedules that consume what they produce before they produce more (stage 3).

The tasks in depth-first order, cut into stretches: each worker takes the next stretch, as long as
suits its speed, so that all are done with their stretches at about the same moment; then the next
round. In one round of stretches each worker has one part of the graph for itself and little is
sent; in many rounds all workers are at the same place in the graph, and little is held. It is
proportional mapping (Pothen and Sun, A mapping algorithm for parallel sparse Cholesky
factorization, SIAM J. Sci. Comput. 14, 1993), for graphs instead of trees.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import depth_first_order, upward_rank
from orchestrator_core.plan.schedule import Schedule

ROUNDS = (8, 4, 2, 1)
"""Those in which least is held come first, for who looks at few."""

HALVINGS = 20
"""How often the range of the time in which all is done is halved."""


def in_turns(instance: Instance) -> Iterator[Schedule]:
    """Two schedules for each number of rounds, as far as deadlines and memory allow them: with
    each task on the worker of its stretch, and with what joins stretches where it ends first.

    Raises:
        UnsupportedInstance: as `expand` does.
    """
    problem = expand(instance)
    if problem.n_tasks == 0:
        return
    seconds = best_seconds(problem)
    rank = upward_rank(problem, seconds.min(axis=1), 0.0, 0.0)
    order = depth_first_order(problem, rank)
    for rounds in ROUNDS:
        worker = shared_out(order, seconds, problem, rounds)
        for choice in (worker, np.where(_joins(problem, worker), -1, worker)):
            found = place(instance, Choice(order, worker=choice))
            if isinstance(found, Schedule):
                yield found


def _joins(problem: Problem, worker: Ints) -> NDArray[np.bool_]:
    """(n,) the tasks to which more is sent than they put out themselves."""
    n = problem.n_tasks
    consumer = np.repeat(np.arange(n), np.diff(problem.in_ptr))
    away = worker[problem.in_task] != worker[consumer]
    sent = np.bincount(consumer, problem.output_bytes[problem.in_task] * away, n)
    return (sent > 0) & (sent >= problem.output_bytes)


def shared_out(order: Ints, seconds: Floats, problem: Problem, rounds: int) -> Ints:
    """(n,) the worker of each single task; -1 where the worker of its stretch may not run it.

    Args:
        seconds: (n, w), infinity where a task may not run.
    """
    runs = np.isfinite(seconds)
    work = np.where(runs, seconds, 0.0)[order] / problem.worker_threads
    done = np.vstack([np.zeros(problem.n_workers), np.cumsum(work, axis=0)])
    # The slow ones first: the last stretch holds the ends of all chains.
    turns = np.argsort(-done[-1], kind="stable")
    low, high = 0.0, float(done[-1].max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = _cuts(done, turns, middle, rounds)[-1] >= len(order)
        low, high = (low, middle) if fits else (middle, high)
    lengths = np.diff(_cuts(done, turns, high, rounds), prepend=0)
    of_place = np.repeat(np.tile(turns, rounds), lengths)
    worker = np.empty(len(order), dtype=np.int64)
    worker[order] = np.where(runs[order, of_place], of_place, -1)
    return worker


def _cuts(done: Floats, turns: Ints, time: float, rounds: int) -> Ints:
    """(rounds * w,) where in the order each stretch ends if all is to be done by `time`.

    Args:
        done: (n + 1, w) seconds in which a worker does all tasks before a place in the order.
    """
    place, spent, cuts = 0, np.zeros(len(turns)), []
    for number in range(1, rounds + 1):
        for b in turns:
            begun = done[place, b]
            # A stretch ends where it is nearest to its share; later ones make up for it.
            share = begun + time * number / rounds - spent[b]
            middles = (done[place:-1, b] + done[place + 1 :, b]) / 2
            place += int(np.searchsorted(middles, share, side="right"))
            spent[b] += done[place, b] - begun
            cuts.append(place)
    return np.array(cuts, dtype=np.int64)
