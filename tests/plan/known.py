"""Tiny instances of which the optimum is known, each with the reason, one for every constraint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker


@dataclass(frozen=True)
class Known:
    name: str
    instance: Instance
    optimum: float
    reason: str


def instance_of(
    tasks: list[Task],
    workers: list[Worker],
    edges: list[Edge] | None = None,
    link: Link | None = None,
    stock: Mapping[str, float] | None = None,
) -> Instance:
    return Instance.price(
        TaskGraph.from_tasks(tasks, edges or []), Cluster(workers, link, stock=stock)
    )


def _on(worker: int, name: str, seconds: float, **fields: object) -> Task:
    return Task(name, seconds=seconds, eligible=(f"w{worker}",), **fields)  # type: ignore[arg-type]


def _workers(number: int, **fields: object) -> list[Worker]:
    return [Worker(f"w{w}", **fields) for w in range(number)]  # type: ignore[arg-type]


def _fast_or_slow() -> tuple[Mode, Mode]:
    return Mode("fast", seconds=1, consumes={"licence": 1}), Mode("slow", seconds=3)


KNOWN = [
    Known(
        "one thread",
        instance_of([Task("a", seconds=3), Task("b", seconds=3)], _workers(1)),
        6,
        "one after the other",
    ),
    Known(
        "two threads",
        instance_of([Task("a", seconds=3), Task("b", seconds=3)], _workers(1, threads=2)),
        3,
        "beside each other",
    ),
    Known(
        "identical processors",
        instance_of([Task(f"t{i}", seconds=s) for i, s in enumerate((3, 3, 2, 2, 2))], _workers(2)),
        6,
        "3 + 3 on one, 2 + 2 + 2 on the other, no second idle (longest first would take 7)",
    ),
    Known(
        "a graph on identical processors",
        instance_of(
            [Task(name, seconds=s) for name, s in zip("abcdef", (1, 2, 3, 2, 1, 1), strict=True)],
            _workers(2),
            [Edge(a, b) for a, b in ("ab", "ac", "bd", "ce", "df", "ef")],
        ),
        6,
        "the critical paths a b d f and a c e f take 6, and fit beside each other",
    ),
    Known(
        "transfer",
        instance_of(
            [_on(0, "a", 2, output_bytes=4), _on(1, "b", 3)],
            _workers(2),
            [Edge("a", "b")],
            Link(latency=1, bandwidth=2),
        ),
        8,
        "2, then 1 of latency and 4 / 2 on the way, then 3",
    ),
    Known(
        "no transfer at home",
        instance_of(
            [Task("a", seconds=2, output_bytes=4), Task("b", seconds=3)],
            _workers(2),
            [Edge("a", "b")],
            Link(latency=1, bandwidth=2),
        ),
        5,
        "both on one worker",
    ),
    Known(
        "encoding one after the other",
        instance_of(
            [_on(0, "a", 1, output_bytes=4), _on(1, "b", 1), _on(2, "c", 1)],
            _workers(3),
            [Edge("a", "b"), Edge("a", "c")],
            Link(encode_rate=2),
        ),
        6,
        "two encodings of 2 on the only thread of w0 end at 3 and at 5",
    ),
    Known(
        "encoding takes a thread from tasks",
        instance_of(
            [_on(0, "a", 1, output_bytes=4), _on(0, "d", 3), _on(1, "b", 1)],
            _workers(2),
            [Edge("a", "b")],
            Link(encode_rate=2),
        ),
        6,
        "w0 has 1 + 2 + 3 to do",
    ),
    Known(
        "one transfer for all consumers there",
        instance_of(
            [_on(0, "a", 1, output_bytes=4), _on(1, "b", 1), _on(1, "c", 1)],
            [Worker("w0"), Worker("w1", threads=2)],
            [Edge("a", "b"), Edge("a", "c")],
            Link(encode_rate=2, bandwidth=4),
        ),
        5,
        "1 + 2 + 1 + 1; a second encoding on the one thread of w0 would add 2",
    ),
    Known(
        "a part of an output",
        instance_of(
            [_on(0, "a", 1, output_bytes=6), _on(1, "b", 1)],
            _workers(2),
            [Edge("a", "b", 2)],
            Link(bandwidth=1),
        ),
        4,
        "b waits for 2 of 6 bytes",
    ),
    Known(
        "memory of running tasks",
        instance_of(
            [Task("a", seconds=2, memory=6), Task("b", seconds=2, memory=6)],
            _workers(1, threads=2, memory=10),
        ),
        4,
        "6 + 6 bytes do not fit in 10",
    ),
    Known(
        "memory of held outputs",
        instance_of(
            [
                Task("a", seconds=1, output_bytes=6),
                Task("c", seconds=2),
                Task("b", seconds=3, memory=6),
            ],
            _workers(1, threads=2, memory=10),
            [Edge("a", "c")],
        ),
        5,
        "b runs from 0 to 3; a may not end before, since its output is held until c ends",
    ),
    Known(
        "memory where an output is sent",
        instance_of(
            [_on(0, "a", 1, output_bytes=6), _on(1, "b", 1), _on(1, "d", 3, memory=6)],
            [Worker("w0"), Worker("w1", threads=2, memory=10)],
            [Edge("a", "b")],
            Link(latency=1),
        ),
        4,
        "the output leaves w0 at 2 only, so that it arrives when d ends at 3; sent at once: 6",
    ),
    Known(
        "memory until the last encoding",
        instance_of(
            [
                _on(0, "a", 1, output_bytes=6),
                _on(0, "d", 2, memory=6, release=1),
                _on(1, "b", 1),
            ],
            [Worker("w0", threads=2, memory=10), Worker("w1")],
            [Edge("a", "b")],
            Link(encode_rate=3),
        ),
        5,
        "a's output stays on w0 until it is encoded at 3, only then d has room",
    ),
    Known(
        "renewable resources",
        instance_of(
            [
                Task("a", seconds=2, resources={"GPU": 1}),
                Task("b", seconds=3, resources={"GPU": 1}),
            ],
            _workers(1, threads=4, resources={"GPU": 1}),
        ),
        5,
        "one GPU for two",
    ),
    Known(
        "modes",
        instance_of(
            [
                Task(name, modes=(Mode("wide", threads=2, seconds=3), Mode("thin", seconds=5)))
                for name in "ab"
            ],
            _workers(1, threads=2),
        ),
        5,
        "both thin, beside each other; both wide would take 6",
    ),
    Known(
        "counts and multiplicity",
        instance_of(
            [Task("map", seconds=1, count=4), Task("reduce", seconds=1, count=2)],
            _workers(2),
            [Edge("map", "reduce", multiplicity=2)],
        ),
        3,
        "6 seconds of work on two workers",
    ),
    Known(
        "instances paired by number",
        instance_of(
            [_on(0, "a", 2, count=2), _on(1, "b", 2, count=2)],
            _workers(2),
            [Edge("a", "b")],
        ),
        6,
        "the first b runs beside the second a; if each b needed all of a, it would take 8",
    ),
    Known(
        "each instance needs all outputs",
        instance_of(
            [_on(0, "a", 2, count=2), _on(1, "b", 2, count=2)],
            _workers(2),
            [Edge("a", "b", multiplicity=2)],
        ),
        8,
        "no b before 4",
    ),
    Known(
        "release", instance_of([Task("a", seconds=1, release=5)], _workers(1)), 6, "not before 5"
    ),
    Known(
        "deadline",
        instance_of(
            [_on(0, "p", 2), _on(1, "q", 5), _on(0, "r", 2, deadline=2)],
            _workers(2),
            [Edge("p", "q")],
        ),
        9,
        "r goes first to end by 2, though p holds up q",
    ),
    Known(
        "stock",
        instance_of(
            [Task(name, modes=_fast_or_slow()) for name in "ab"], _workers(2), stock={"licence": 1}
        ),
        3,
        "one licence: one of the two is slow",
    ),
    Known(
        "checkpoints",
        instance_of(
            [
                _on(0, "long", 4, checkpoints=(0.5,)),
                _on(0, "urgent", 1, release=2),
                _on(1, "after", 3),
            ],
            _workers(2),
            [Edge("urgent", "after")],
        ),
        6,
        "long pauses from 2 to 3; in one piece it would take 7",
    ),
    Known(
        "checkpoints only where they are",
        instance_of(
            [
                _on(0, "long", 4, checkpoints=(0.25,)),
                _on(0, "urgent", 1, release=2),
                _on(1, "after", 3),
            ],
            _workers(2),
            [Edge("urgent", "after")],
        ),
        6,
        "long runs from 0 to 1, waits with the worker until urgent has run, and ends at 6",
    ),
    Known(
        "no length",
        instance_of(
            [Task("a", seconds=0), Task("b", seconds=0), Task("c", seconds=2)],
            _workers(1),
            [Edge("a", "b"), Edge("b", "c")],
        ),
        2,
        "what has no length occupies nothing",
    ),
]
