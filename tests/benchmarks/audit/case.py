"""Case: an instance to be audited, under an objective."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from tests.benchmarks.audit.bare import bare_instance
from tests.benchmarks.audit.brim import to_the_brim
from tests.benchmarks.audit.drawn import Drawn
from tests.benchmarks.audit.noise import with_noise
from tests.benchmarks.audit.odd import odd_instance
from tests.benchmarks.audit.oracle import within_reach
from tests.benchmarks.audit.tight import tightened
from tests.plan.objectives.dressed import dressed_instances

OBJECTIVES = (
    *("makespan", "makespan", "makespan", "tardiness", "price", "busy-price", "memory"),
    *("tardiness,makespan", "makespan,price", "price,makespan", "makespan,memory"),
)
"""In turn; the makespan more often, since it has the most bounds."""

OF_THREADS = ("makespan", "makespan", "tardiness", "makespan", "tardiness,makespan")


@dataclass(frozen=True, slots=True)
class Case:
    """Attributes:
    source: how the instance was drawn: ``plain``, ``tight``, ``odd``, ``brim`` or ``bare``.
    """

    seed: int
    source: str
    drawn: Drawn
    objective: str

    @property
    def instance(self) -> Instance:
        return self.drawn.instance

    @property
    def whole(self) -> Instance:
        """The instance that the oracle can take."""
        return self.drawn.whole or self.drawn.instance

    @property
    def tick(self) -> float:
        return self.drawn.tick


def cases(first: int, count: int, kind: str = "every") -> Iterator[Case]:
    """So many of a kind of `KINDS` that the oracle can take, from this seed on."""
    possible = (KINDS[kind](seed) for seed in itertools.count(first))
    return itertools.islice((case for case in possible if case is not None), count)


def case_of(seed: int) -> Case | None:
    """None where the instance is refused at once, or is too long for the oracle."""
    source, draw = _SOURCES[seed % len(_SOURCES)]
    drawn = draw(seed)
    if drawn is None or not within_reach(drawn.instance, drawn.tick):
        return None
    return Case(seed, source, drawn, OBJECTIVES[seed // len(_SOURCES) % len(OBJECTIVES)])


def noisy_case_of(seed: int) -> Case | None:
    """With noise, and under one criterion for which that changes the optimum by a known part."""
    case = case_of(seed)
    if case is None:
        return None
    first = case.objective.split(",")[0]
    objective = "makespan" if first == "tardiness" else first
    return replace(case, drawn=with_noise(seed, case.drawn), objective=objective)


def bare_case_of(seed: int) -> Case | None:
    """In which only threads are scarce."""
    drawn = bare_instance(seed)
    if drawn is None or not within_reach(drawn.instance, drawn.tick):
        return None
    return Case(seed, "bare", drawn, OF_THREADS[seed % len(OF_THREADS)])


def _plain(seed: int) -> Drawn | None:
    return next((Drawn(each) for _, each in dressed_instances([seed])), None)


def _tight(seed: int) -> Drawn | None:
    drawn = _plain(seed)
    made = None if drawn is None else tightened(seed, drawn.instance)
    return None if made is None else Drawn(made)


def _brim(seed: int) -> Drawn | None:
    drawn = odd_instance(seed) if seed % 8 < 4 else _plain(seed)
    if drawn is None or not within_reach(drawn.instance, drawn.tick):
        return None
    return to_the_brim(seed, drawn.instance, drawn.tick)


_SOURCES: tuple[tuple[str, Callable[[int], Drawn | None]], ...] = (
    ("plain", _plain),
    ("tight", _tight),
    ("odd", odd_instance),
    ("brim", _brim),
)

KINDS: dict[str, Callable[[int], Case | None]] = {
    "every": case_of,
    "noise": noisy_case_of,
    "threads": bare_case_of,
}
"""With every constraint, the same with noise, and with nothing scarce but threads."""
