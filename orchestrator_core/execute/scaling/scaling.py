"""Scaling: how many workers the rest of a run is worth, and which of them could go.

    what_if       one more of each kind, one fewer of each worker: what does it buy or cost?
    recommend     the smallest cluster that is as good as the best one, or that meets a deadline

Estimates by repairs of the running schedule, within a small budget of time; nothing is planned for
good and nothing is started. More workers are never taken to be worse, nor fewer to be better.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.directives import Key
from orchestrator_core.execute.scaling.resized import Resized
from orchestrator_core.execute.scaling.sizes import Elasticity, Sizes, elasticity_of
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.plan.repair import Event
from orchestrator_core.plan.schedule import Schedule

__all__ = ["Elasticity", "Recommendation", "Remaining", "recommend", "together", "what_if"]

SLACK = 0.05
"""Part of the remaining seconds that may be given away for fewer workers."""

MOST_WORKERS = 512
"""Larger clusters are not tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Remaining:
    """A run under way.

    Attributes:
        instance: all of it, as priced now. schedule: as planned, or as it has gone until now.
        now: seconds from the start of the run.
        events: what has happened, as for a repair; what nobody reports went as planned.
        followed: is the schedule in force? Otherwise it says only how much there is to do.
        keys: what the host calls its tasks.
    """

    instance: Instance
    schedule: Schedule
    now: float = 0.0
    events: tuple[Event, ...] = ()
    followed: bool = True
    keys: Collection[Key] = ()


@dataclass(frozen=True, slots=True)
class Recommendation:
    """How large a cluster should be.

    Attributes:
        workers: how many. makespan: seconds from the start of the run that it then takes.
        retire: workers that may go, the one that is missed least first; all before it gone too.
        bought: by kind, seconds that one more worker saves for its price of an hour; infinite if
            it saves some for nothing.
    """

    workers: int
    makespan: float
    retire: tuple[str, ...]
    bought: Mapping[str, float]


def what_if(
    instance: Instance,
    schedule: Schedule,
    now: float = 0.0,
    *,
    events: Iterable[Event] = (),
    lost: Collection[str] = (),
    seconds: float = 0.1,
) -> Elasticity:
    """What one more worker of each kind buys, and what one fewer costs.

    Args:
        instance, schedule, now, events: see `Remaining`. lost: workers that are not there any more.
        seconds: wall seconds after which no further question is asked.

    Raises:
        InvalidInput: for a schedule of another instance, or if all workers are lost.
    """
    until = time.perf_counter() + seconds
    return elasticity_of(Resized(instance, schedule, now, events, lost), until)


def recommend(
    instance: Instance,
    schedule: Schedule,
    now: float = 0.0,
    *,
    events: Iterable[Event] = (),
    lost: Collection[str] = (),
    minimum: int = 1,
    maximum: float = math.inf,
    kind: str | None = None,
    deadline: float | None = None,
    may_slow: bool = True,
    slack: float = SLACK,
    held: Mapping[str, float] | None = None,
    seconds: float = 0.5,
) -> Recommendation:
    """The smallest cluster that meets the deadline; without one, or where none meets it, the
    smallest whose remaining seconds are within `slack` of the best.

    Args:
        instance, schedule, now, events, lost, seconds: see `what_if`.
        minimum, maximum: numbers of workers that are possible.
        kind: of the workers that can be had; None for the most common kind.
        deadline: seconds from the start of the run.
        may_slow: is a run that meets its deadline easily to go on with fewer workers? Otherwise
            workers are given back only if that costs no more than `slack`.
        held: bytes that each worker holds; None for what the schedule knows of.

    Raises:
        InvalidInput: as `what_if`; for a kind of which there is no worker; for impossible numbers.
    """
    if not 1 <= minimum <= maximum:
        raise InvalidInput(
            f"from {minimum} to {maximum} workers: it must be 1 <= minimum <= maximum"
        )
    if deadline is not None and math.isnan(deadline):
        raise InvalidInput("the deadline is no number of seconds; give None where there is none")
    run = Resized(instance, schedule, now, events, lost)
    sizes = Sizes(run, kind or common_kind(run), held, time.perf_counter() + seconds)
    most = int(min(maximum, len(run.workers) + run.left, max(MOST_WORKERS, len(run.workers))))
    limit, top = sizes.limit(max(minimum, most), deadline, may_slow, slack)
    number = sizes.smallest(minimum, max(minimum, min(top, most)), limit)
    return Recommendation(number, sizes.makespan(number), sizes.retire, sizes.bought())


def together(parts: Sequence[Recommendation], present: int) -> Recommendation:
    """One recommendation for runs beside each other on a cluster of `present` workers.

    Each was made as if its run were alone: what they want to grow by adds up, and so does what they
    keep. Workers may go that all of them would let go.
    """
    growth = sum(max(0, part.workers - present) for part in parts)
    kept = min(present, sum(part.workers for part in parts))
    places = [{name: i for i, name in enumerate(part.retire)} for part in parts]
    common = set.intersection(*(set(place) for place in places))
    return Recommendation(
        workers=present + growth if growth else kept,
        makespan=max(part.makespan for part in parts),
        retire=tuple(sorted(common, key=lambda name: (max(p[name] for p in places), name))),
        bought={
            kind: sum(part.bought.get(kind, 0.0) for part in parts)
            for kind in dict.fromkeys(kind for part in parts for kind in part.bought)
        },
    )


def common_kind(run: Resized) -> str:
    """The kind of most workers; of several, the one that appears first."""
    kinds = Counter(plain_kind(run.instance.cluster.workers[b].kind) for b in run.workers)
    return kinds.most_common(1)[0][0]
