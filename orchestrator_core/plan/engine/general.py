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
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, first_fit, holds_fit, occupy, step_at


@inner
def _find(sent: Sent, task: int, w: int) -> int:
    """The transfer of the task's output to worker w, or -1."""
    x: int = sent.first[task]
    while x >= 0 and sent.destination[x] != w:
        x = sent.after[x]
    return x


@inner
def _encode_from(
    f: Profiles,
    draft: Draft,
    count: int,
    starts: Floats,
    ends: Floats,
    source: int,
    ready: float,
    seconds: float,
) -> float:
    """When a thread of `source` is free, also of the `count` encodings that are drafted."""
    begin = ready
    while seconds > 0.0:
        draft.thread[0] = 1.0
        begin = first_fit(f, source, begin, seconds, draft.thread)
        beside, until = 0, np.inf
        for i in range(count):
            if draft.source[i] == source and starts[i] < begin + seconds and ends[i] > begin:
                beside += 1
                until = min(until, ends[i])
        if beside == 0:
            break
        draft.thread[0] = 1.0 + beside
        fits = first_fit(f, source, begin, seconds, draft.thread)
        if fits == begin:
            break
        begin = until
    return float(begin)


@inner
def _hold(draft: Draft, x: int, since: float, until: float, nbytes: float) -> int:
    """Note a hold at the place x of the draft's changes; the next free place."""
    draft.moments[x], draft.changes[x] = since, nbytes
    draft.moments[x + 1], draft.changes[x + 1] = until, -nbytes
    return x + 2


@inner
def _memory_fits(
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
    encoded: Floats,
) -> bool:
    """Does worker b take the task, its inputs and its output, with the drafted transfers?"""
    moments, changes = draft.moments, draft.changes
    close = begin + p.seconds[m, b]
    x = _hold(draft, 0, begin, close, p.memory[m])
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        nbytes = p.output_bytes[q]
        if placed.worker[q] == b:
            since = placed.held_until[q]
            if reserve:
                if placed.waiting[q] == 1:
                    moments[x], changes[x] = max(since, close), -nbytes
                    x += 1
            elif close > since:
                x = _hold(draft, x, since, close, nbytes)
            continue
        known = _find(sent, q, b)
        if known >= 0:
            since, until = sent.held_from[known], sent.held_until[known]
            if until <= since:
                since, until = min(since, begin), max(until, close)
                x = _hold(draft, x, since, until, nbytes)
                continue
            if begin < since:
                x = _hold(draft, x, begin, since, nbytes)
            if close > until:
                x = _hold(draft, x, until, close, nbytes)
    for i in range(draft.used[0]):
        q = draft.task[i]
        nbytes, source = p.output_bytes[q], draft.source[i]
        there = encoded[i] + p.latency[source, b] + nbytes * p.per_byte[source, b]
        x = _hold(draft, x, min(there, begin), close, nbytes)
    if reserve and placed.waiting[t] > 0:
        moments[x], changes[x] = close, p.output_bytes[t]
        x += 1
    return holds_fit(f, b, moments, changes, x)


@inner
def _sources_keep(
    p: Problem,
    f: Profiles,
    placed: Placed,
    draft: Draft,
    encoded: Floats,
) -> bool:
    """Is there room on each source to keep the output until it is encoded? (hopeful only)"""
    for i in range(draft.used[0]):
        q, a = draft.task[i], draft.source[i]
        if f.limit[a, 1] < np.inf and encoded[i] > placed.held_until[q]:
            x = _hold(draft, 0, placed.held_until[q], encoded[i], p.output_bytes[q])
            if not holds_fit(f, a, draft.moments, draft.changes, x):
                return False
    return True


@inner
def _draft(
    p: Problem,
    t: int,
    m: int,
    b: int,
    earliest: float,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> float:
    """First start of task t in mode m on worker b, or infinity; drafts its transfers."""
    seconds, ready, incoming = p.seconds[m, b], earliest, 0.0
    draft.used[0] = 0
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a = placed.worker[q]
        if a == b:
            ready = max(ready, placed.end[q])
            continue
        known = _find(sent, q, b)
        if known >= 0:
            encoded = sent.encoded[known]
        else:
            count, length = draft.used[0], p.output_bytes[q] * p.encode[a, b]
            begin = _encode_from(
                f,
                draft,
                count,
                draft.start,
                draft.encoded,
                a,
                placed.end[q],
                length,
            )
            encoded = begin + length
            draft.task[count], draft.source[count], draft.part[count] = q, a, p.in_bytes[k]
            draft.start[count], draft.encoded[count] = begin, encoded
            draft.used[0] += 1
            incoming += p.output_bytes[q]
        ready = max(ready, encoded + p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b])
    draft.need[0], draft.need[1] = p.threads[m], p.memory[m] + incoming
    for d in range(p.demand.shape[1]):
        draft.need[2 + d] = p.demand[m, d]
    begin = first_fit(f, b, ready, seconds, draft.need)
    at, late = begin, False
    while at < np.inf:
        encoding = draft.late_encoded if late else draft.encoded
        kept = reserve or _sources_keep(p, f, placed, draft, encoding)
        if not (kept or late):
            break
        if kept and (
            f.limit[b, 1] == np.inf
            or _memory_fits(
                p, t, m, b, at, reserve, f, placed, sent, draft, encoding,
            )
        ):  # fmt: skip
            for i in range(draft.used[0]):
                if late:
                    draft.start[i], draft.encoded[i] = draft.late_start[i], draft.late_encoded[i]
            return at
        if late:
            after = step_at(f, b, begin) + 1
            ready = f.times[after] if after < f.base[b] + f.size[b] else np.inf
        else:
            ready = begin
            for i in range(draft.used[0]):
                q, a = draft.task[i], draft.source[i]
                length = p.output_bytes[q] * p.encode[a, b]
                way = p.latency[a, b] + draft.part[i] * p.per_byte[a, b]
                draft.late_start[i] = _encode_from(
                    f,
                    draft,
                    i,
                    draft.late_start,
                    draft.late_encoded,
                    a,
                    max(placed.end[q], begin - way - length),
                    length,
                )
                draft.late_encoded[i] = draft.late_start[i] + length
                there = draft.late_encoded[i] + way
                # Subtracting the way and adding it again may miss the start by a rounding error.
                if there > begin + 1e-12 * max(1.0, begin):
                    ready = max(ready, there)
        if ready == np.inf:
            break
        at = first_fit(f, b, ready, seconds, draft.need)
        if late:
            begin = at
        late = not late
    return np.inf


@inner
def _keep(f: Profiles, draft: Draft, b: int, since: float, until: float, nbytes: float) -> None:
    """Hold bytes on worker b; nothing where its memory is not scarce."""
    if f.limit[b, 1] < np.inf and nbytes != 0.0:
        draft.hold[1] = nbytes
        occupy(f, b, since, until, draft.hold)


@inner
def _send(
    p: Problem,
    q: int,
    b: int,
    begin: float,
    encoded: float,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> None:
    """Commit the transfer of q's output to worker b. Nobody uses it there yet."""
    x: int = sent.used[0]
    a = placed.worker[q]
    sent.used[0] += 1
    sent.after[x], sent.first[q] = sent.first[q], x
    sent.task[x], sent.destination[x], sent.start[x], sent.encoded[x] = q, b, begin, encoded
    sent.end[x] = encoded + p.latency[a, b] + p.output_bytes[q] * p.per_byte[a, b]
    sent.held_from[x], sent.held_until[x] = sent.end[x], 0.0
    draft.thread[0] = 1.0
    occupy(f, a, begin, encoded, draft.thread)
    if encoded > placed.held_until[q]:
        if not reserve:
            _keep(f, draft, a, placed.held_until[q], encoded, p.output_bytes[q])
        placed.held_until[q] = encoded


@inner
def _send_early(
    p: Problem,
    q: int,
    b: int,
    earliest: float,
    reserve: bool,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> None:
    """Send q's output to worker b before anything there asks for it, if it is not made there."""
    a = placed.worker[q]
    if a == b or _find(sent, q, b) >= 0:
        return
    length = p.output_bytes[q] * p.encode[a, b]
    ready = max(placed.end[q], earliest)
    begin = _encode_from(f, draft, 0, draft.start, draft.encoded, a, ready, length)
    _send(p, q, b, begin, begin + length, reserve, f, placed, sent, draft)


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
        _keep(f, draft, b, close, np.inf, p.output_bytes[t])
    for i in range(draft.used[0]):
        _send(
            p,
            draft.task[i],
            b,
            draft.start[i],
            draft.encoded[i],
            reserve,
            f,
            placed,
            sent,
            draft,
        )
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a, nbytes = placed.worker[q], p.output_bytes[q]
        if a != b:
            x = _find(sent, q, b)
            since, until = sent.held_from[x], sent.held_until[x]
            sent.held_from[x], sent.held_until[x] = min(since, begin), max(until, close)
            if until <= since:
                _keep(f, draft, b, sent.held_from[x], sent.held_until[x], nbytes)
            else:
                _keep(f, draft, b, begin, since, nbytes)
                _keep(f, draft, b, until, close, nbytes)
        elif close > placed.held_until[q]:
            if not reserve:
                _keep(f, draft, b, placed.held_until[q], close, nbytes)
            placed.held_until[q] = close
        placed.waiting[q] -= 1
        if placed.waiting[q] == 0 and reserve:
            _keep(f, draft, a, placed.held_until[q], np.inf, -nbytes)


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
    n, w = len(p.task), len(p.worker_threads)
    latest_start = np.zeros(w)
    # An array, since numba compiles everything again for a worker that may be the literal -1.
    chosen = np.empty(2, dtype=np.int64)
    for number in range(len(order)):
        t = order[number]
        if t >= n:
            _send_early(
                p, sends[t - n, 0], sends[t - n, 1], earliest[t], reserve, f, placed, sent, draft
            )
            continue
        best, at, latest = np.inf, np.inf, True
        chosen[0] = -1
        for b in range(w):
            if fixed_worker[t] >= 0 and fixed_worker[t] != b:
                continue
            since = max(earliest[t], latest_start[b]) if in_order else earliest[t]
            for m in range(p.mode_begin[t], p.mode_end[t]):
                if p.seconds[m, b] == np.inf or (fixed_mode[t] >= 0 and fixed_mode[t] != m):
                    continue
                begin = _draft(p, t, m, b, since, reserve, f, placed, sent, draft)
                score = begin + p.seconds[m, b]
                if len(ahead) > 0:
                    score += ahead[t, b]
                latest = score < best
                if latest:
                    best, chosen[0], chosen[1], at = score, b, m, begin
        if chosen[0] < 0 or f.pool[1] == 1:
            return number
        b, m = int(chosen[0]), int(chosen[1])
        if not latest:
            since = max(earliest[t], latest_start[b]) if in_order else earliest[t]
            at = _draft(p, t, m, b, since, reserve, f, placed, sent, draft)
        _commit(p, t, m, b, at, reserve, f, placed, sent, draft)
        latest_start[b] = max(latest_start[b], at)
    # Hopeful: two outputs that one task asked to keep longer may have been given the same room.
    for b in range(w):
        for i in range(f.base[b], f.base[b] + f.size[b]):
            if f.taken[i, 1] > f.limit[b, 1]:
                return len(order) - 1
    return len(order)
