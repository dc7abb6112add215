"""Encodings that a window decides on: of its tasks' outputs, and of what its tasks need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator_core.plan.cpsat.windows.model import Window


@dataclass(frozen=True, slots=True)
class _Consumer:
    """Someone who needs the output at the destination.

    Attributes:
        task: who. nbytes: the part that it waits for.
        there: literals, one of which is true if it is at the destination; None if it always is.
    """

    task: int
    nbytes: float
    there: tuple[Any, ...] | None


def encodings_take_threads(v: Window) -> None:
    """Each output that leaves its worker is encoded there after its task's end, on a thread, before
    it is sent; encodings between fixed tasks stay as they are."""
    line, p = v.frame.line, v.frame.line.problem
    if not p.encode.any():
        return
    kept = {
        (a, b): line.n_tasks + x
        for x, (a, b) in enumerate(line.sends.T.tolist())
        if v.frame.graph.fixed[line.n_tasks + x]
    }
    needed = {int(a) for t in v.frame.free for a in p.in_task[p.in_ptr[t] : p.in_ptr[t + 1]]}
    for a in sorted({*v.frame.free, *needed}):
        if p.output_bytes[a] > 0:
            for b, consumers in sorted(_consumers(v, a).items()):
                if (a, b) in kept:
                    _wait_for_kept(v, kept[a, b], a, b, consumers)
                else:
                    _add_send(v, a, b, consumers)


def _consumers(v: Window, a: int) -> dict[int, list[_Consumer]]:
    """Consumers of the output by where they may be."""
    line, p = v.frame.line, v.frame.line.problem
    found: dict[int, list[_Consumer]] = {}
    for k in range(p.out_ptr[a], p.out_ptr[a + 1]):
        c, nbytes = int(p.out_task[k]), float(p.out_bytes[k])
        if c not in v.taken:
            found.setdefault(int(line.worker[c]), []).append(_Consumer(c, nbytes, None))
            continue
        for b in dict.fromkeys(o.worker for o in v.options(c)):
            found.setdefault(b, []).append(_Consumer(c, nbytes, tuple(_at(v, c, b))))
    return found


def _at(v: Window, task: int, worker: int) -> list[Any]:
    """The literals of a free task's options on a worker."""
    pairs = zip(v.taken[task], v.options(task), strict=True)
    return [x for x, option in pairs if option.worker == worker]


def _transit(v: Window, source: int, there: int, nbytes: float) -> int:
    p = v.frame.line.problem
    return v.ticks(float(p.latency[source, there] + nbytes * p.per_byte[source, there]))


def _wait_for_kept(v: Window, item: int, a: int, b: int, consumers: list[_Consumer]) -> None:
    """A free consumer shares the transfer that fixed ones have there already."""
    line = v.frame.line
    begin = v.start.get(item, v.ticks(line.start[item]))
    encoded = begin + v.ticks(line.end[item] - line.start[item])
    for consumer in consumers:
        for x in consumer.there or ():
            transit = _transit(v, int(line.worker[a]), b, consumer.nbytes)
            v.cp.add(v.start[consumer.task] >= encoded + transit).only_enforce_if(x)


def _add_send(v: Window, a: int, b: int, consumers: list[_Consumer]) -> None:
    line, p = v.frame.line, v.frame.line.problem
    free = a in v.taken
    sources = dict.fromkeys(o.worker for o in v.options(a)) if free else [int(line.worker[a])]
    encode = {s: v.ticks(float(p.output_bytes[a] * p.encode[s, b])) for s in sources if s != b}
    if not any(encode.values()):
        return
    if not free and all(consumer.there is None for consumer in consumers):
        return
    begin = v.sends[a, b] = v.cp.new_int_var(0, v.target, "")
    if free:
        v.cp.add(begin >= v.start[a] + v.length(a))
    else:
        done = v.start.get(a, v.ticks(line.start[a])) + v.ticks(line.end[a] - line.start[a])
        v.cp.add(begin >= done)
    for source, ticks in encode.items():
        _from(v, a, b, source, ticks, consumers)


def _from(v: Window, a: int, b: int, source: int, ticks: int, consumers: list[_Consumer]) -> None:
    """From one source: present if the task is there and a consumer is at the destination."""
    frame, begin = v.frame, v.sends[a, b]
    sent = v.cp.new_bool_var("")
    here = [x.negated() for x in _at(v, a, source)] if a in v.taken else [None]
    for no_source in here:
        for consumer in consumers:
            for x in consumer.there or (None,):
                unless = [no_source, None if x is None else x.negated()]
                v.cp.add_bool_or([sent, *(y for y in unless if y is not None)])
    kinds = len(frame.line.supply) // frame.line.problem.n_workers
    if ticks > 0:
        interval = v.cp.new_optional_fixed_size_interval_var(begin, ticks, sent, "")
        v.spans[source * kinds].append((interval, 1.0))
        v.cp.add(begin >= v.ticks(frame.ready[source])).only_enforce_if(sent)
        rest = ticks + v.ticks(frame.after[source])
        v.cp.add(begin + rest <= v.makespan).only_enforce_if(sent)
    for consumer in consumers:
        arrives = begin + ticks + _transit(v, source, b, consumer.nbytes)
        for x in consumer.there or (None,):
            when = [sent] if x is None else [sent, x]
            if consumer.task in v.start:
                v.cp.add(v.start[consumer.task] >= arrives).only_enforce_if(when)
            elif frame.beyond[consumer.task]:
                tail = v.ticks(frame.graph.tail[consumer.task])
                v.cp.add(arrives + tail <= v.makespan).only_enforce_if(when)
