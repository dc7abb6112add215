"""One hyperperiod of several flows as one instance (stage 3, real time)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, gcd, lcm, log10

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.realtime.flows import PeriodicFlow


@dataclass(frozen=True, slots=True)
class Release:
    """One release of a flow: when, and by when it must have ended; seconds."""

    flow: PeriodicFlow
    number: int
    at: float
    until: float

    def task_name(self, task: str) -> str:
        return f"{self.flow.name}/{self.number}/{task}"


def hyperperiod(periods: Sequence[float]) -> Fraction:
    """The least common multiple; periods are taken as fractions with denominators up to 10^6, of a
    second or of the power of ten below the shortest."""
    unit = Fraction(10) ** min(0, floor(log10(min(periods))))
    parts = [(Fraction(period) / unit).limit_denominator(10**6) * unit for period in periods]
    top = lcm(*(part.numerator for part in parts))
    bottom = 0
    for part in parts:
        bottom = gcd(bottom, part.denominator)
    # The lcm of reduced fractions is the lcm of numerators over the gcd of denominators.
    return Fraction(top, bottom)


def releases(
    flows: Sequence[PeriodicFlow], length: float, begin: float, last: float
) -> list[Release]:
    """All releases in [begin, begin + length), counted from `begin`; none may end after `last`.

    With `length` for `last`, a schedule of them can be repeated every `length` seconds, since
    nothing is left over.
    """
    found = []
    for flow in flows:
        count = round(length / flow.period)
        phase = (flow.offset - begin) % flow.period
        if phase > flow.period * (1 - 1e-9):
            phase = 0.0
        for number in range(count):
            at = phase + number * flow.period
            found.append(Release(flow, number, at, min(at + flow.relative_deadline, last)))
    return found


def unroll(cluster: Cluster, members: Sequence[Release]) -> Instance:
    """The instance of these releases.

    Raises:
        InfeasibleInstance: if some task cannot even alone end by its deadline.
        InvalidInput: if tasks of two flows would have one name.
    """
    graphs = [release.flow.instance.graph for release in members]
    first = np.cumsum([0, *(len(graph) for graph in graphs)])
    tasks = list(zip(members, graphs, strict=True))
    names = [r.task_name(name) for r, g in tasks for name in g.names]
    _check_names(names, members)
    graph = TaskGraph.from_columns(
        names,
        kinds=[g.kind(i) for _, g in tasks for i in range(len(g))],
        output_bytes=_joined([g.output_bytes for g in graphs]),
        release=_joined([r.at + g.release for r, g in tasks]),
        deadline=_joined(
            [np.minimum(r.at + g.deadline - r.flow.waited, r.until) for r, g in tasks]
        ),
        count=_joined([g.count for g in graphs]),
        checkpoints=[g.checkpoints(i) for _, g in tasks for i in range(len(g))],
        mode_count=_joined([np.diff(g.mode_ptr) for g in graphs]),
        threads=_joined([g.mode_threads for g in graphs]),
        memory=_joined([g.mode_memory for g in graphs]),
        demands=[g.demand(m) for _, g in tasks for m in range(g.n_modes)],
        producer=_joined([g.producer + begin for g, begin in zip(graphs, first, strict=False)]),
        consumer=_joined([g.consumer + begin for g, begin in zip(graphs, first, strict=False)]),
        nbytes=_joined([g.nbytes for g in graphs]),
        multiplicity=_joined([g.multiplicity for g in graphs]),
    )
    return Instance(graph, cluster, np.concatenate([r.flow.instance.seconds for r in members]))


def _joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(columns)


def _check_names(names: Sequence[str], members: Sequence[Release]) -> None:
    if len(set(names)) < len(names):
        flows = dict.fromkeys(release.flow.name for release in members)
        raise InvalidInput(
            f"of the flows {', '.join(map(shown, flows))} two have tasks that would be called "
            "alike, as 'flow/number/task'; rename one"
        )
