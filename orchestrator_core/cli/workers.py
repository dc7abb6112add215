"""A cluster from the command line: ``--workers fast:speed=4 --workers slow:count=2,GPU=1``."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence

from orchestrator_core.cli.quantities import parse_bytes, parse_number
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.cluster import Cluster, Worker

MOST_WORKERS = 10_000
KNOWN = ("count", "memory", "price", "speed", "threads")


def parse_workers(texts: Sequence[str]) -> list[Worker]:
    """The workers of all texts, each ``KIND[:name=value,...]`` or a mere count of equal workers.

    A name that is not among `KNOWN` is a resource, such as ``GPU=1``.

    Raises:
        InvalidInput: naming the text and what is wrong with it.
    """
    workers = [worker for text in texts for worker in _parse_group(text)]
    if len(workers) > MOST_WORKERS:
        raise InvalidInput(f"{len(workers)} workers; at most {MOST_WORKERS} can be asked for")
    return workers


def equal_workers(count: int) -> list[Worker]:
    """So many workers with one thread each."""
    return parse_workers([str(count)])


def with_links(cluster: Cluster, latency: float | None, bandwidth: float | None) -> Cluster:
    """The cluster with this latency (s) and bandwidth (bytes/s) between any two workers.

    Raises:
        InvalidInput: for a bandwidth of 0.
    """
    if latency is None and bandwidth is None:
        return cluster
    if bandwidth == 0:
        raise InvalidInput("a bandwidth of 0 lets nothing through; expected something like 100MB")
    per_byte = cluster.seconds_per_byte if bandwidth is None else 1.0 / bandwidth
    return Cluster.from_matrices(
        cluster.workers,
        latency=cluster.latency if latency is None else latency,
        seconds_per_byte=per_byte,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte,
        stock=cluster.stock,
    )


def _parse_group(text: str) -> list[Worker]:
    kind, _, rest = text.strip().partition(":")
    if kind.isdecimal() and not rest:
        return _named("worker", _whole("count", kind, text), {})
    if not kind or kind.startswith("-") or "=" in kind or "," in kind or _is_number(kind):
        raise InvalidInput(
            f"{text!r} does not begin with a kind of worker; expected something like "
            "fast:speed=4,threads=2,memory=8GB,GPU=1"
        )
    given: dict[str, str] = {}
    for pair in filter(None, rest.split(",")):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name or not value:
            raise InvalidInput(f"{pair!r} in {text!r} is not name=value, such as speed=4")
        if name in given:
            raise InvalidInput(f"{text!r} says {name} twice; which one is meant?")
        given[_checked(name, text)] = value
    count = _whole("count", given.pop("count", "1"), text)
    return _named(kind, count, _properties(given, text))


def _named(kind: str, count: int, properties: dict[str, object]) -> list[Worker]:
    names = [kind] if count == 1 else [f"{kind}-{i}" for i in range(count)]
    return [Worker(name, kind=kind, **properties) for name in names]  # type: ignore[arg-type]


def _properties(given: dict[str, str], text: str) -> dict[str, object]:
    try:
        return {
            "threads": _whole("threads", given.pop("threads", "1"), text),
            "memory": parse_bytes(given.pop("memory")) if "memory" in given else math.inf,
            "speed": parse_number(given.pop("speed", "1")),
            "price": parse_number(given.pop("price", "0")),
            "resources": {name: parse_number(value) for name, value in given.items()},
        }
    except InvalidInput as error:
        raise InvalidInput(f"in {text!r}: {error}") from None


def _checked(name: str, text: str) -> str:
    """A property's name; a resource that looks like a slip of a property's is refused."""
    if name in KNOWN:
        return name
    near = difflib.get_close_matches(name.lower(), KNOWN, n=1, cutoff=0.7)
    if near:
        raise InvalidInput(f"{name!r} in {text!r}: did you mean {near[0]!r}?")
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _whole(name: str, value: str, text: str) -> int:
    if not value.isdecimal() or not 1 <= int(value[:9]) <= MOST_WORKERS or len(value) > 9:
        raise InvalidInput(f"{name} is {value!r} in {text!r}; expected 1 to {MOST_WORKERS}")
    return int(value)
