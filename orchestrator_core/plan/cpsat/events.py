"""The events of a rough schedule as variables in seconds, and what follows from the instance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.expand import inputs_of
from orchestrator_core.plan.cpsat.lengths import piece_seconds
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer


@dataclass(frozen=True, slots=True)
class Event:
    """A moment `after` seconds past a variable; `rough` is when the rough schedule has it."""

    variable: int
    after: float
    rough: float


@dataclass(frozen=True, slots=True)
class Span:
    """A worker is occupied from the first of `begin` to the last of `end`."""

    worker: int
    begin: tuple[Event, ...]
    end: tuple[Event, ...]

    @property
    def first(self) -> float:
        return min(event.rough for event in self.begin)

    @property
    def last(self) -> float:
        return max(event.rough for event in self.end)


@dataclass(frozen=True, slots=True)
class _Run:
    """From a variable on, for `seconds`: a piece or an encoding."""

    start: Event
    end: Event

    @property
    def seconds(self) -> float:
        return self.end.after


class Events:
    """Variables for the starts of pieces and encodings of a rough schedule.

    Attributes:
        guess: (variables,) rough times. least: (variables,) earliest times by themselves.
    """

    def __init__(self, instance: Instance, rough: Schedule) -> None:
        self.guess: list[float] = []
        self.least: list[float] = []
        self._instance = instance
        self._rows, self._moves = list(rough.assignments), list(rough.transfers)
        self._place = [instance.cluster.index[a.worker] for a in self._rows]
        index = instance.graph.index
        self._row_of = {(index[a.task], a.instance): i for i, a in enumerate(self._rows)}
        self._pieces = [self._add_pieces(i, a) for i, a in enumerate(self._rows)]
        self._encodes = [self._add_encode(t) for t in self._moves]
        self._uses = list(self._find_uses())

    def _run(self, start: float, end: float, least: float, seconds: float) -> _Run:
        self.guess.append(start)
        self.least.append(least)
        variable = len(self.guess) - 1
        return _Run(Event(variable, 0.0, start), Event(variable, seconds, end))

    def _add_pieces(self, row: int, a: Assignment) -> list[_Run]:
        graph = self._instance.graph
        task = graph.index[a.task]
        seconds = piece_seconds(
            self._instance, int(graph.mode_ptr[task]) + a.mode, self._place[row]
        )
        segments = a.segments or ((a.start, a.end),)
        release = float(graph.release[task])
        return [
            self._run(start, end, release, length)
            for (start, end), length in zip(segments, seconds, strict=True)
        ]

    def _add_encode(self, t: Transfer) -> _Run:
        per_byte = self._instance.cluster.encode_seconds_per_byte[self._route(t)]
        return self._run(t.start, t.encoded, 0.0, t.nbytes * float(per_byte))

    def _route(self, t: Transfer) -> tuple[int, int]:
        index = self._instance.cluster.index
        return index[t.source], index[t.destination]

    def _row(self, t: Transfer) -> int:
        return self._row_of[self._instance.graph.index[t.task], t.instance]

    def _find_uses(self) -> Iterator[tuple[int, int, float]]:
        """(row of the producer, row of the consumer, nbytes) of each use of an output."""
        for (task, number), row in self._row_of.items():
            for producer, k, nbytes in inputs_of(self._instance, task, number):
                yield self._row_of[producer, k], row, nbytes

    def pieces_in_order(self) -> Iterator[tuple[int, int, float]]:
        """A piece follows the piece before it; an encoding follows the end of its unit."""
        for pieces in self._pieces:
            for one, other in pairwise(pieces):
                yield one.start.variable, other.start.variable, one.seconds
        for t, encode in zip(self._moves, self._encodes, strict=True):
            last = self._pieces[self._row(t)][-1]
            yield last.start.variable, encode.start.variable, last.seconds

    def inputs_before_consumers(self) -> Iterator[tuple[int, int, float]]:
        """A consumer follows the end of its producer, or the arrival of what it waits for."""
        sent = {(self._row(t), self._route(t)[1]): k for k, t in enumerate(self._moves)}
        for producer, consumer, nbytes in self._uses:
            first = self._pieces[consumer][0].start.variable
            if self._place[producer] == self._place[consumer]:
                last = self._pieces[producer][-1]
                yield last.start.variable, first, last.seconds
            else:
                k = sent[producer, self._place[consumer]]
                yield self._encodes[k].start.variable, first, self._transit(k, nbytes)

    def _transit(self, move: int, nbytes: float) -> float:
        """Seconds from the start of the encoding to `nbytes` at the destination."""
        route = self._route(self._moves[move])
        seconds = self._instance.cluster.transfer_seconds(*route, nbytes)
        return self._encodes[move].seconds + seconds

    def running(self) -> Iterator[Span]:
        """Spans that take threads."""
        for worker, pieces in zip(self._place, self._pieces, strict=True):
            yield from (Span(worker, (p.start,), (p.end,)) for p in pieces if p.seconds > 0)
        for t, encode in zip(self._moves, self._encodes, strict=True):
            if encode.seconds > 0:
                yield Span(self._route(t)[0], (encode.start,), (encode.end,))

    def held(self) -> Iterator[Span]:
        """Spans for which an output is held: where it is made, and where it is sent."""
        begin: dict[tuple[int, int], list[Event]] = defaultdict(list)
        end: dict[tuple[int, int], list[Event]] = defaultdict(list)
        for producer, consumer, _ in self._uses:
            key = producer, self._place[consumer]
            end[key].append(self._pieces[consumer][-1].end)
            if self._place[producer] != self._place[consumer]:
                begin[key].append(self._pieces[consumer][0].start)
        for k, t in enumerate(self._moves):
            row, (source, destination) = self._row(t), self._route(t)
            end[row, source].append(self._encodes[k].end)
            arrival = Event(self._encodes[k].start.variable, self._transit(k, t.nbytes), t.end)
            begin[row, destination].append(arrival)
        for (row, worker), until in end.items():
            since = begin[row, worker] or [self._pieces[row][-1].end]
            yield Span(worker, tuple(since), tuple(until))

    def schedule(self, times: list[float]) -> Schedule:
        """The schedule in which the variables have these values."""
        rows = []
        for a, pieces in zip(self._rows, self._pieces, strict=True):
            starts = [times[piece.start.variable] for piece in pieces]
            ends = [start + piece.seconds for start, piece in zip(starts, pieces, strict=True)]
            segments = joined(list(zip(starts, ends, strict=True)))
            paused = tuple(segments) if len(segments) > 1 else ()
            rows.append(replace(a, start=segments[0][0], end=ends[-1], segments=paused))
        return Schedule(rows, [self._moved(k, times) for k in range(len(self._moves))])

    def _moved(self, k: int, times: list[float]) -> Transfer:
        t, start = self._moves[k], times[self._encodes[k].start.variable]
        return replace(
            t,
            start=start,
            encoded=start + self._encodes[k].seconds,
            end=start + self._transit(k, t.nbytes),
        )


def joined(pieces: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Segments: pieces that follow at once are one, and what has no length is none."""
    segments: list[tuple[float, float]] = []
    for start, end in pieces:
        if segments and start <= segments[-1][1]:
            segments[-1] = (segments[-1][0], end)
        elif start < end:
            segments.append((start, end))
    return segments or pieces[-1:]
