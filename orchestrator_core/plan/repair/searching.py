"""Local search over the rest: compiled moves of order and place, with prefix re-use (repair).

A solution is an order of the waiting tasks, producers first, and a worker for each task, or -1
where the kernel chooses. A move takes one task, mostly one without which the last end would come
sooner, and gives it another turn or another worker; what comes before it in the order stays as it
is, since the state of the lanes is noted every `STRIDE` tasks. Slightly worse solutions are passed
through at a falling temperature (simulated annealing; Kirkpatrick, Gelatt, Vecchi 1983).
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.placing import (
    STRIDE,
    Lanes,
    Solution,
    empty_solution,
    lanes_now,
    place_turns,
)
from orchestrator_core.plan.repair.rest import WAITING, Placement, Rest

CRITICAL = 0.7
"""How often a move takes a task of the critical path rather than any."""

PENALTY = 1e3
"""Seconds of makespan that one second behind a deadline counts as."""


@inner
def _critical(
    p: Problem, r: Rest, order: Ints, before: Ints, placed: Placement, found: Ints
) -> int:
    """Write a chain of tasks that leads to the last end into `found`; how many they are."""
    t, count = order[0], 0
    for other in order:
        if placed.end[other] > placed.end[t]:
            t = other
    while t >= 0:
        found[count] = t
        count += 1
        reason, slack = -1, 1e-9 * (1.0 + placed.start[t])
        if before[t] >= 0 and placed.end[before[t]] >= placed.start[t] - slack:
            reason = before[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            if r.status[q] == WAITING:
                a, b = placed.worker[q], placed.worker[t]
                there = placed.end[q] + (p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b])
                if there >= placed.start[t] - slack:
                    reason = q
                    break
        t = reason
    return count


@inner
def _window(p: Problem, r: Rest, turn: Ints, t: int, n: int) -> tuple[int, int]:
    """First and last turn that task t can have, between its producers and its consumers."""
    low, high = 0, n - 1
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        if r.status[p.in_task[k]] == WAITING:
            low = max(low, turn[p.in_task[k]] + 1)
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        if r.status[p.out_task[k]] == WAITING:
            high = min(high, turn[p.out_task[k]] - 1)
    return low, high


@inner
def _shift(order: Ints, turn: Ints, x: int, y: int) -> None:
    """Give the task at turn x the turn y; those between move up."""
    t, step = order[x], 1 if y > x else -1
    while x != y:
        order[x] = order[x + step]
        turn[order[x]] = x
        x += step
    order[y] = t
    turn[t] = y


@inner
def copy_turns(source: Solution, target: Solution, order: Ints, first: int, past: int) -> None:
    """Copy what the turns from `first` up to, not including, `past` have in one solution."""
    for turn in range(first, past):
        t = order[turn]
        target.placed.start[t], target.placed.end[t] = source.placed.start[t], source.placed.end[t]
        target.placed.worker[t], target.placed.mode[t] = (
            source.placed.worker[t],
            source.placed.mode[t],
        )
        target.before[t] = source.before[t]
    for number in range(first // STRIDE, min((past - 1) // STRIDE + 1, len(source.value))):
        target.free[number], target.last[number] = source.free[number], source.last[number]
        target.value[number] = source.value[number]


@inner
def tails(p: Problem, r: Rest) -> Floats:
    """(n,) least seconds from a task's end to the end of all that waits for it."""
    n, w = len(r.status), len(p.worker_threads)
    tail, whole = np.zeros(n), np.zeros(n)
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            if r.status[p.out_task[k]] == WAITING:
                tail[t] = max(tail[t], whole[p.out_task[k]])
        least = np.inf
        for m in range(p.mode_begin[t], p.mode_end[t]):
            for b in range(w):
                if r.alive[b]:
                    least = min(least, p.seconds[m, b])
        if least == np.inf:
            least = 0.0
        whole[t] = tail[t] + (r.left[t] if r.left[t] >= 0.0 else least)
    return tail


@inner
def _changed_worker(p: Problem, r: Rest, t: int, placed: Placement) -> int:
    """Another worker for task t: that of a producer or a consumer, any, or -1 for the kernel's."""
    w = len(p.worker_threads)
    draw, b = np.random.random(), -1
    if draw < 0.3 and p.in_ptr[t + 1] > p.in_ptr[t]:
        q = p.in_task[np.random.randint(p.in_ptr[t], p.in_ptr[t + 1])]
        b = placed.worker[q] if r.status[q] == WAITING else r.home[q]
    elif draw < 0.45 and p.out_ptr[t + 1] > p.out_ptr[t]:
        q = p.out_task[np.random.randint(p.out_ptr[t], p.out_ptr[t + 1])]
        b = placed.worker[q] if r.status[q] == WAITING else -1
    elif draw < 0.8:
        b = np.random.randint(0, w)
    return b if b < w else -1


@inner
def _proposal(
    p: Problem, r: Rest, order: Ints, prefer: Ints, turn: Ints, critical: Ints, placed: Placement
) -> tuple[int, int, int]:
    """A task, mostly a critical one, its turn and the worker that it prefers; one of the two is
    drawn anew."""
    many = len(order)
    t = order[np.random.randint(0, many)]
    if np.random.random() < CRITICAL:
        t = critical[np.random.randint(0, len(critical))]
    if np.random.random() < 0.5:
        low, high = _window(p, r, turn, t, many)
        reach = max(8, many // 8)
        low, high = max(low, turn[t] - reach), min(high, turn[t] + reach)
        return t, np.random.randint(low, high + 1), prefer[t]
    return t, turn[t], _changed_worker(p, r, t, placed)


@inner
def _placed(
    p: Problem,
    r: Rest,
    order: Ints,
    prefer: Ints,
    stick: float,
    first: int,
    limit: float,
    tail: Floats,
    lanes: Lanes,
    ready: Floats,
    solution: Solution,
) -> tuple[float, int]:
    """Place from a turn on, as `place_turns` does: what that is worth, and how far it came."""
    makespan, late, past = place_turns(
        p, r, order, prefer, stick, first, limit, PENALTY, tail, lanes, ready, solution
    )
    return makespan + PENALTY * late, past


@compiled
def search_rest(
    p: Problem,
    r: Rest,
    seed: int,
    work: int,
    temperature: float,
    target: float,
    stick: float,
    order: Ints,
    prefer: Ints,
    best_order: Ints,
    best_prefer: Ints,
) -> tuple[float, int]:
    """Move on from (`order`, `prefer`), both changed in place, until `work` tasks are placed.

    A worse solution is accepted with probability ``exp(-excess / (temperature * value))``.

    Args:
        target: stop at this value, in seconds: makespan + `PENALTY` x seconds behind deadlines.
        stick: as in `place_rest`.

    Returns the value of (`best_order`, `best_prefer`), in seconds, and the number of moves.
    """
    np.random.seed(seed)
    many, lanes = len(order), lanes_now(p, r, len(order))
    here, trial = empty_solution(r, many, lanes), empty_solution(r, many, lanes)
    ready, tail = np.empty(len(p.worker_threads)), tails(p, r)
    turn, found = np.zeros(len(r.status), dtype=np.int64), np.empty(many, dtype=np.int64)
    for x in range(many):
        turn[order[x]] = x
    best, _ = _placed(p, r, best_order, best_prefer, stick, 0, np.inf, tail, lanes, ready, trial)
    current, _ = _placed(p, r, order, prefer, stick, 0, np.inf, tail, lanes, ready, here)
    copy_turns(here, trial, order, 0, many)
    n_critical, done, moves = _critical(p, r, order, here.before, here.placed, found), 0, 0
    while done < work and best > target:
        t, to, wish = _proposal(p, r, order, prefer, turn, found[:n_critical], here.placed)
        old_turn, old_wish = turn[t], prefer[t]
        prefer[t] = wish
        moves += 1
        if to == old_turn and wish in (old_wish, here.placed.worker[t]):
            done += 1
            continue
        _shift(order, turn, old_turn, to)
        first = min(old_turn, to) // STRIDE * STRIDE
        limit = current - temperature * best * np.log(1.0 - np.random.random())
        value, past = _placed(p, r, order, prefer, stick, first, limit, tail, lanes, ready, trial)
        done += past - first
        if value > limit:
            # The tasks of these turns are the same before and after the shift is undone.
            past = max(past, min(many, max(old_turn, to) + 1))
            _shift(order, turn, to, old_turn)
            prefer[t] = old_wish
            copy_turns(here, trial, order, first, past)
            continue
        copy_turns(trial, here, order, first, many)
        current = value
        n_critical = _critical(p, r, order, here.before, here.placed, found)
        if value < best * (1.0 - 1e-12):
            best = value
            best_order[:], best_prefer[:] = order, prefer
    return float(best), moves
