"""Drafts of the general kernel: the first start of a task on a worker, with its transfers."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.general_memory import memory_fits, sources_keep
from orchestrator_core.plan.engine.general_sent import encode_from, find_sent
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, first_fit, step_at


@inner
def _gather(
    p: Problem,
    t: int,
    b: int,
    earliest: float,
    f: Profiles,
    placed: Placed,
    sent: Sent,
    draft: Draft,
) -> tuple[float, float]:
    """Draft the transfers that task t lacks on worker b, each as soon as possible: (when all its
    inputs are there, bytes of the drafted ones)."""
    ready, incoming = earliest, 0.0
    draft.used[0] = 0
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a = placed.worker[q]
        if a == b:
            ready = max(ready, placed.end[q])
            continue
        known = find_sent(sent, q, b)
        if known >= 0:
            encoded = sent.encoded[known]
        else:
            encoded = _add(p, q, b, p.in_bytes[k], f, placed, draft)
            incoming += p.output_bytes[q]
        ready = max(ready, encoded + p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b])
    return ready, incoming


@inner
def _add(
    p: Problem, q: int, b: int, part: float, f: Profiles, placed: Placed, draft: Draft
) -> float:
    """Draft the transfer of q's output to worker b, as soon as possible; when it is encoded."""
    count, a = draft.used[0], placed.worker[q]
    length, ready = p.output_bytes[q] * p.encode[a, b], placed.end[q]
    begin = encode_from(f, draft, count, draft.start, draft.encoded, a, ready, length)
    draft.task[count], draft.source[count], draft.part[count] = q, a, part
    draft.start[count], draft.encoded[count] = begin, begin + length
    draft.used[0] += 1
    return float(draft.encoded[count])


@inner
def _put_off(p: Problem, b: int, begin: float, f: Profiles, placed: Placed, draft: Draft) -> float:
    """Draft the transfers anew, so that they arrive just before `begin`; when all are there."""
    ready = begin
    for i in range(draft.used[0]):
        q, a = draft.task[i], draft.source[i]
        length = p.output_bytes[q] * p.encode[a, b]
        way = p.latency[a, b] + draft.part[i] * p.per_byte[a, b]
        after = max(placed.end[q], begin - way - length)
        sends = encode_from(f, draft, i, draft.late_start, draft.late_encoded, a, after, length)
        draft.late_start[i], draft.late_encoded[i] = sends, sends + length
        there = draft.late_encoded[i] + way
        # Subtracting the way and adding it again may miss the start by a rounding error.
        if there > begin + 1e-12 * max(1.0, begin):
            ready = max(ready, there)
    return ready


@inner
def _take_late(draft: Draft) -> None:
    """Let the transfers that were put off be the drafted ones."""
    for i in range(draft.used[0]):
        draft.start[i], draft.encoded[i] = draft.late_start[i], draft.late_encoded[i]


@inner
def _after_step(f: Profiles, b: int, moment: float) -> float:
    """When the next step of worker b begins; infinity for none."""
    after = step_at(f, b, moment) + 1
    return f.times[after] if after < f.base[b] + f.size[b] else np.inf


@inner
def draft_start(
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
    """First start of task t in mode m on worker b, or infinity; drafts its transfers.

    As soon as possible and put off are tried in turn, each from a later start on.
    """
    ready, incoming = _gather(p, t, b, earliest, f, placed, sent, draft)
    draft.need[0], draft.need[1] = p.threads[m], p.memory[m] + incoming
    for d in range(p.demand.shape[1]):
        draft.need[2 + d] = p.demand[m, d]
    begin = first_fit(f, b, ready, p.seconds[m, b], draft.need)
    at, late, boundless = begin, False, f.limit[b, 1] == np.inf
    while at < np.inf:
        encoded = draft.late_encoded if late else draft.encoded
        kept = reserve or sources_keep(p, f, placed, draft, encoded)
        if not (kept or late):
            break
        if kept and (
            boundless or memory_fits(p, t, m, b, at, reserve, f, placed, sent, draft, encoded)
        ):
            if late:
                _take_late(draft)
            return at
        ready = _after_step(f, b, begin) if late else _put_off(p, b, begin, f, placed, draft)
        if ready == np.inf:
            break
        at = first_fit(f, b, ready, p.seconds[m, b], draft.need)
        if late:
            begin = at
        late = not late
    return np.inf
