"""Transfers of the general kernel: found, encoded on a thread, and committed."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, first_fit, occupy


@inner
def find_sent(sent: Sent, task: int, w: int) -> int:
    """The transfer of the task's output to worker w, or -1."""
    x: int = sent.first[task]
    while x >= 0 and sent.destination[x] != w:
        x = sent.after[x]
    return x


@inner
def encode_from(
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
def keep(f: Profiles, draft: Draft, b: int, since: float, until: float, nbytes: float) -> None:
    """Hold bytes on worker b; nothing where its memory is not scarce."""
    if f.limit[b, 1] < np.inf and nbytes != 0.0:
        draft.hold[1] = nbytes
        occupy(f, b, since, until, draft.hold)


@inner
def send(
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
            keep(f, draft, a, placed.held_until[q], encoded, p.output_bytes[q])
        placed.held_until[q] = encoded


@inner
def send_early(
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
    if a == b or find_sent(sent, q, b) >= 0:
        return
    length = p.output_bytes[q] * p.encode[a, b]
    ready = max(placed.end[q], earliest)
    begin = encode_from(f, draft, 0, draft.start, draft.encoded, a, ready, length)
    send(p, q, b, begin, begin + length, reserve, f, placed, sent, draft)
