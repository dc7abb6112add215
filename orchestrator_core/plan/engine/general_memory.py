"""Does the memory of workers take what a draft asks for? Holds of inputs, outputs and the task."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.general_sent import find_sent
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, holds_fit


@inner
def _hold(draft: Draft, x: int, since: float, until: float, nbytes: float) -> int:
    """Note a hold at the place x of the draft's changes; the next free place."""
    draft.moments[x], draft.changes[x] = since, nbytes
    draft.moments[x + 1], draft.changes[x + 1] = until, -nbytes
    return x + 2


@inner
def _change(draft: Draft, x: int, moment: float, nbytes: float) -> int:
    """Note a change for ever at the place x of the draft's changes; the next free place."""
    draft.moments[x], draft.changes[x] = moment, nbytes
    return x + 1


@inner
def _hold_made_here(
    draft: Draft, x: int, since: float, close: float, reserve: bool, last: bool, nbytes: float
) -> int:
    """An input that was made on the worker, where it lies until `since`, is used until `close`.

    Args:
        last: is the task the only consumer that is not placed?
    """
    if reserve:
        return _change(draft, x, max(since, close), -nbytes) if last else x
    return _hold(draft, x, since, close, nbytes) if close > since else x


@inner
def _hold_sent(
    draft: Draft, x: int, since: float, until: float, begin: float, close: float, nbytes: float
) -> int:
    """An input that has been sent to the worker, where it lies from `since` to `until`."""
    if until <= since:
        return _hold(draft, x, min(since, begin), max(until, close), nbytes)
    if begin < since:
        x = _hold(draft, x, begin, since, nbytes)
    if close > until:
        x = _hold(draft, x, until, close, nbytes)
    return x


@inner
def memory_fits(
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
    close = begin + p.seconds[m, b]
    x = _hold(draft, 0, begin, close, p.memory[m])
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        nbytes = p.output_bytes[q]
        if placed.worker[q] == b:
            since, last = placed.held_until[q], placed.waiting[q] == 1
            x = _hold_made_here(draft, x, since, close, reserve, last, nbytes)
            continue
        known = find_sent(sent, q, b)
        if known >= 0:
            since, until = sent.held_from[known], sent.held_until[known]
            x = _hold_sent(draft, x, since, until, begin, close, nbytes)
    for i in range(draft.used[0]):
        q = draft.task[i]
        nbytes, source = p.output_bytes[q], draft.source[i]
        there = encoded[i] + p.latency[source, b] + nbytes * p.per_byte[source, b]
        x = _hold(draft, x, min(there, begin), close, nbytes)
    if reserve and placed.waiting[t] > 0:
        x = _change(draft, x, close, p.output_bytes[t])
    return holds_fit(f, b, draft.moments, draft.changes, x)


@inner
def sources_keep(
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
