"""What is to be different, as people type it: ``--add gpu:2 --remove w3 --faster train=2x``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from orchestrator_core.cli.quantities import parse_number
from orchestrator_core.cli.workers import KNOWN, parse_workers
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.report.gantt import short_kind
from orchestrator_core.report.names import near
from orchestrator_core.report.whatif.change import Change

_ADDED = re.compile(r"(?P<kind>.+?)(?::(?P<count>[0-9]+))?(?::(?P<rest>[^:=,]+=.*))?")
MOST_ADDED = 1_000
"""Workers that can be added in all."""

MOST_NAMED = 10
"""Names that a message lists."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The options as they were typed."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    faster: tuple[str, ...] = ()
    memory: str | None = None


def change_of(typed: Typed, run: RunRecord, others: Sequence[Cluster] = ()) -> Change:
    """The change of the run that was typed.

    Args:
        others: further clusters whose kinds of workers are known.

    Raises:
        InvalidInput: naming what cannot be, and what can.
    """
    taken = set(run.cluster.names)
    added: list[Worker] = []
    needed = {name for demand in run.graph.demands for name in demand.resources}
    for text in typed.add:
        added += _added(text, (run.cluster, *others), taken, needed)
        if len(added) > MOST_ADDED:
            raise InvalidInput(f"{len(added)} workers; at most {MOST_ADDED} can be added")
    removed: list[str] = []
    for text in typed.remove:
        removed += _removed(text, run.cluster, removed)
    faster: dict[str, float] = {}
    for text in typed.faster:
        for kind, factor in _faster(text, run).items():
            faster[kind] = faster.get(kind, 1.0) * factor
    memory = 1.0 if typed.memory is None else _factor(typed.memory, "--memory")
    return Change(tuple(added), tuple(removed), faster, memory)


def _added(
    text: str, clusters: Sequence[Cluster], taken: set[str], needed: Set[str]
) -> list[Worker]:
    """The workers of one ``--add``; their names are put into `taken`.

    `needed`: resources of which the run's tasks take something.
    """
    found = _ADDED.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"--add {text!r}: expected KIND:COUNT, such as gpu:1")
    kind, count, rest = found["kind"], int((found["count"] or "1")[:9]), found["rest"] or ""
    named = {worker.name: worker.kind for worker in clusters[0].workers}
    if text.strip() in named:  # which may end with a port, and no count
        kind, count, rest = text.strip(), 1, ""
    if not 1 <= count <= MOST_ADDED:
        raise InvalidInput(f"--add {text!r}: the count is {count}; expected 1 to {MOST_ADDED}")
    known = {worker.kind: worker for each in reversed(clusters) for worker in each.workers}
    # People know their workers by name, and mean another one of that kind.
    kind = kind if kind in known else named.get(kind, kind)
    if kind not in known and "speed" not in _names(rest):
        _check_properties(rest, text, needed)
    model = _model(kind, rest, known.get(kind), text, list(known))
    free = (name for n in itertools.count(1) if (name := f"new-{kind}-{n}") not in taken)
    names = list(itertools.islice(free, count))
    taken.update(names)
    return [replace(model, name=name) for name in names]


def _model(kind: str, rest: str, known: Worker | None, text: str, kinds: list[str]) -> Worker:
    """A worker of the kind; what is stated in `rest` counts more than what is known."""
    stated = _names(rest)
    if "count" in stated:
        raise InvalidInput(f"--add {text!r}: say how many as {kind}:COUNT")
    if known is None and "speed" not in stated:
        _check_count(kind, kinds, text)
        others = ", ".join(kinds[:MOST_NAMED])
        raise InvalidInput(
            f"no worker of kind {kind!r} is known: KIND must be one of {others}, "
            f"or say its speed: --add {kind}:1:speed=4"
        )
    (described,) = parse_workers([f"kind:{rest}"])
    if known is None:
        return replace(described, name=kind, kind=kind)
    fields = {name: getattr(described, name) for name in stated if hasattr(described, name)}
    resources = {**known.resources, **described.resources}
    return replace(known, **fields, resources=resources)


def _names(rest: str) -> set[str]:
    """What is stated in ``speed=4,GPU=1``."""
    return {pair.partition("=")[0].strip() for pair in rest.split(",") if pair}


def _check_properties(rest: str, text: str, resources: Set[str]) -> None:
    """What is no property counts as a resource; where it is all that is said of a kind that nobody
    knows, one that nobody needs is rather a slip."""
    unknown = sorted(_names(rest) - {*KNOWN, *resources})
    if unknown:
        known = sorted({*KNOWN, *resources} - {"count"})
        raise InvalidInput(
            f"--add {text!r}: {unknown[0]!r} is no property of a worker, and no resource that a "
            f"task of the run needs; there are {', '.join(known)}"
        )


def _check_count(kind: str, kinds: Sequence[str], text: str) -> None:
    """Of a kind that nobody knows: is it a kind with something else than a count behind it?"""
    begin = next((known for known in kinds if kind.startswith(f"{known}:")), kind.partition(":")[0])
    rest = kind[len(begin) + 1 :]
    if rest:
        raise InvalidInput(
            f"--add {text!r}: {rest!r} is neither a count from 1 to {MOST_ADDED} nor name=value; "
            f"expected something like {begin}:2 or {begin}:2:speed=4"
        )


def _removed(text: str, cluster: Cluster, gone: Sequence[str]) -> list[str]:
    """The workers of one ``--remove``: a name, or KIND:COUNT."""
    if text in cluster.names:
        return [text]
    kind, _, count = text.rpartition(":")
    here = [w.name for w in cluster.workers if w.kind == kind and w.name not in gone]
    if kind in cluster.kinds and count.isdecimal():
        if int(count[:9]) > len(here):
            raise InvalidInput(f"--remove {text!r}: there are {len(here)} workers of kind {kind!r}")
        return here[len(here) - int(count) :]
    close = near(text, cluster.names) or cluster.names[:MOST_NAMED]
    raise InvalidInput(
        f"there is no worker {text!r}; near it: {', '.join(map(repr, close))}; "
        f"or say KIND:COUNT with a kind of {', '.join(cluster.kinds[:MOST_NAMED])}"
    )


def _faster(text: str, run: RunRecord) -> dict[str, float]:
    """The kinds of one ``--faster KIND=FACTOR``."""
    name, equals, factor = text.rpartition("=")
    if not equals or not name:
        raise InvalidInput(f"--faster {text!r}: expected KIND=FACTOR, such as train=2x")
    kinds = run.graph.kinds
    meant = [kind for kind in kinds if kind == name]
    meant = meant or [kind for kind in kinds if short_kind(kind) == name]
    if not meant:
        short = list(dict.fromkeys(map(short_kind, kinds)))
        close = near(name, short) or short[:MOST_NAMED]
        raise InvalidInput(
            f"no task of run {run.run_id[:8]} is of kind {name!r}; there are {', '.join(close)}"
        )
    return dict.fromkeys(meant, _factor(factor, f"--faster {name}"))


def _factor(text: str, option: str) -> float:
    """``2x`` or ``2``: a number > 0."""
    try:
        number = parse_number(text.strip().removesuffix("x").removesuffix("×"))
    except InvalidInput:
        number = 0.0
    if number <= 0:
        raise InvalidInput(f"{option}={text}: expected a factor > 0, such as 2x")
    return number
