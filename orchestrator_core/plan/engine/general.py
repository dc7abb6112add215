"""List scheduling on profiles: the general kernel, which takes every constraint of the problem.

For each task of the order and each worker and mode that it may have, the kernel drafts the
transfers that it would need, each encoded on its source as soon as a thread is free; finds the
first start at which threads, memory and resources suffice; and commits the draft that ends first.

Memory is the hard part, since an output stays where it is until its last use, which may not be
placed yet. The kernel *reserves* (an output keeps its room for ever until all its consumers are
placed: nothing that is placed can go wrong later, but a consumer may find no room) or is *hopeful*
(an output keeps its room up to the last use that is placed: denser, but a later consumer may find
the room between taken). Either way it stops at the first task that fits nowhere. Where a
destination is too full to take outputs early, transfers are put off until just before the start.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.general_draft import draft_start
from orchestrator_core.plan.engine.general_sent import find_sent, keep, send, send_early
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, occupy


@inner
def _use(
    p: Problem,
    q: int,
    b: int,
    begin: float,
    close: float,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> None:
    """A consumer on worker b holds q's output until it closes; the last one releases it."""
    a, nbytes = placed.worker[q], p.output_bytes[q]
    if a != b:
        x = find_sent(sent, q, b)
        since, until = sent.held_from[x], sent.held_until[x]
        sent.held_from[x], sent.held_until[x] = min(since, begin), max(until, close)
        if until <= since:
            keep(f, draft, b, sent.held_from[x], sent.held_until[x], nbytes)
        else:
            keep(f, draft, b, begin, since, nbytes)
            keep(f, draft, b, until, close, nbytes)
    elif close > placed.held_until[q]:
        if not reserve:
            keep(f, draft, b, placed.held_until[q], close, nbytes)
        placed.held_until[q] = close
    placed.waiting[q] -= 1
    if placed.waiting[q] == 0 and reserve:
        keep(f, draft, a, placed.held_until[q], np.inf, -nbytes)


@inner
def _commit(
    p: Problem,
    t: int,
    m: int,
    b: int,
    begin: float,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> None:
    """Place task t and its drafted transfers; keep and release what they use."""
    close = begin + p.seconds[m, b]
    placed.start[t], placed.end[t], placed.worker[t], placed.mode[t] = begin, close, b, m
    placed.held_until[t] = close
    draft.need[1] = p.memory[m]
    occupy(f, b, begin, close, draft.need)
    if reserve and placed.waiting[t] > 0:
        keep(f, draft, b, close, np.inf, p.output_bytes[t])
    for i in range(draft.used[0]):
        q, sends, encoded = draft.task[i], draft.start[i], draft.encoded[i]
        send(p, q, b, sends, encoded, reserve, f, placed, sent, draft)
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        _use(p, p.in_task[k], b, begin, close, reserve, f, placed, sent, draft)


@inner
def _all_fit(f: Profiles) -> bool:
    """Is no memory overdrawn? Hopeful: two outputs that one task asked to keep longer may have
    been given the same room."""
    for b in range(len(f.base)):
        for i in range(f.base[b], f.base[b] + f.size[b]):
            if f.taken[i, 1] > f.limit[b, 1]:
                return False
    return True


@inner
def _choose(
    p: Problem,
    t: int,
    earliest: Floats,
    latest_start: Floats,
    fixed_worker: Ints,
    fixed_mode: Ints,
    ahead: Floats,
    in_order: bool,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
    chosen: Ints,
) -> float:
    """Draft task t where it ends first; its start. Writes worker and mode, worker -1 for nowhere.

    An array, since numba compiles everything again for a worker that may be the literal -1.
    """
    best, at, latest = np.inf, np.inf, True
    chosen[0] = -1
    for b in range(len(p.worker_threads)):
        if fixed_worker[t] >= 0 and fixed_worker[t] != b:
            continue
        since = max(earliest[t], latest_start[b]) if in_order else earliest[t]
        for m in range(p.mode_begin[t], p.mode_end[t]):
            if p.seconds[m, b] == np.inf or (fixed_mode[t] >= 0 and fixed_mode[t] != m):
                continue
            begin = draft_start(p, t, m, b, since, reserve, f, placed, sent, draft)
            score = begin + p.seconds[m, b]
            if len(ahead) > 0:
                score += ahead[t, b]
            latest = score < best
            if latest:
                best, chosen[0], chosen[1], at = score, b, m, begin
    if not latest and chosen[0] >= 0:
        b, m = int(chosen[0]), int(chosen[1])
        since = max(earliest[t], latest_start[b]) if in_order else earliest[t]
        at = draft_start(p, t, m, b, since, reserve, f, placed, sent, draft)
    return at


@compiled
def place_on_profiles(
    p: Problem,
    order: Ints,
    sends: Ints,
    earliest: Floats,
    fixed_worker: Ints,
    fixed_mode: Ints,
    ahead: Floats,
    in_order: bool,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> int:
    """Place the items of `order`; how many of them could be placed.

    Args:
        order: tasks, or n + x for the transfer that ``sends[x]`` (task, destination) names.
        earliest: (n + len(sends),) seconds before which no item starts.
        fixed_worker, fixed_mode, ahead, in_order: as in `place_on_lanes`.
    """
    p, f, placed, sent, draft = lent(p), lent(f), lent(placed), lent(sent), lent(draft)
    n, chosen = len(p.task), np.empty(2, dtype=np.int64)
    latest_start = np.zeros(len(p.worker_threads))
    for number in range(len(order)):
        t = order[number]
        if t >= n:
            q, b = sends[t - n, 0], sends[t - n, 1]
            send_early(p, q, b, earliest[t], reserve, f, placed, sent, draft)
            continue
        at = _choose(
            p, t, earliest, latest_start, fixed_worker, fixed_mode, ahead, in_order, reserve,
            f, placed, sent, draft, chosen,
        )  # fmt: skip
        if chosen[0] < 0 or f.pool[1] == 1:
            return number
        b, m = int(chosen[0]), int(chosen[1])
        _commit(p, t, m, b, at, reserve, f, placed, sent, draft)
        latest_start[b] = max(latest_start[b], at)
    return len(order) if _all_fit(f) else len(order) - 1
