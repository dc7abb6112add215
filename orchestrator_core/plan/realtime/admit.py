"""admit: can these flows run together for ever, each within its deadline? (stage 3, real time)

Necessary tests come first: the utilisation of the workers, and of each set of workers to which some
tasks are confined. Then one hyperperiod is planned in such a way that nothing is left over at its
end: its schedule can be repeated for ever. Where deadlines reach over that end, several are planned
that overlap. Sporadic flows get a server; so do all flows where the hyperperiod is too long to be
planned. Where slots in each hyperperiod are too many, they are in each of several.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.errors import InfeasibleInstance, InvalidInput
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.bounds.demand import able_workers, least_work, workers_in_words
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.given import check_budget, check_instance
from orchestrator_core.plan.realtime.admission import Admitted, Refused
from orchestrator_core.plan.realtime.feasibility import feasibility
from orchestrator_core.plan.realtime.flows import Flow, SporadicFlow
from orchestrator_core.plan.realtime.overlap import HYPERPERIODS, Cycle, Flows, cycle
from orchestrator_core.plan.realtime.prove import load
from orchestrator_core.plan.realtime.repeated import LARGEST, Repeated, repeated_of, size_of
from orchestrator_core.plan.realtime.server import gap_of, response
from orchestrator_core.plan.realtime.unroll import Release, releases, unroll
from orchestrator_core.plan.realtime.verdict import Feasible, Infeasible, Unknown
from orchestrator_core.plan.schedule import Schedule

SHOWN = 3
"""Flows whose slots are written out."""

SETS = 256
"""Sets of workers that are looked at together."""

CUTS = 4
"""Most moments at which it is tried to begin the hyperperiod."""


def admit(
    cluster: Cluster, flows: Sequence[Flow], budget: Budget | None = None
) -> Admitted | Refused:
    """A schedule of one hyperperiod that can be repeated for ever, or the reason why not.

    Args:
        cluster: that on which the flows' instances are priced.
        budget: default 2 s. The first call of a process takes longer, to load code.

    Raises:
        InvalidInput: for what is no cluster or no flows; if there is no flow, two have one name,
            or tasks that would be called alike, one is priced on another cluster, or takes from the
            cluster's stock, which no repetition can do for ever.
    """
    _check(cluster, flows)
    check_budget(budget)
    crowded = _overused(flows)
    if crowded is not None:
        return crowded
    ways = repeated_of(flows)
    return ways if isinstance(ways, Refused) else _decided(cluster, flows, ways, budget or Budget())


def _decided(
    cluster: Cluster, flows: Sequence[Flow], ways: Sequence[Repeated], budget: Budget
) -> Admitted | Refused:
    """By the first way that does, of those whose slots are no more than the workers can do; if
    none does, what is wrong with the last one."""
    load()
    until = time.perf_counter() + budget.seconds
    *others, last = ways
    able = [*(way for way in others if _overused(way.flows) is None), last]
    for number, way in enumerate(able):
        part = max(0.0, until - time.perf_counter()) / (len(able) - number)
        answer = _Admission(cluster, flows, way, Budget(seconds=part, seed=budget.seed)).decide()
        if isinstance(answer, Admitted):
            break
    return answer


def _check(cluster: Cluster, flows: Sequence[Flow]) -> None:
    if not isinstance(cluster, Cluster):
        raise InvalidInput(f"cluster is {shown(cluster)}; give a Cluster: Cluster([Worker('w0')])")
    example = "[PeriodicFlow('hourly', instance, period=3600)]"
    if not isinstance(flows, Sequence) or not all(isinstance(flow, Flow) for flow in flows):
        raise InvalidInput(f"flows is {shown(flows)}; give a list of flows: {example}")
    names = [flow.name for flow in flows]
    if not names:
        raise InvalidInput(f"there are no flows; give at least one: {example}")
    for flow in flows:
        check_instance(flow.instance)
        graph = flow.instance.graph
        if names.count(flow.name) > 1:
            raise InvalidInput(f"two flows have the name {flow.name!r}")
        if flow.instance.cluster != cluster:
            raise InvalidInput(f"flow {flow.name!r} is priced on another cluster")
        if len(graph) == 0:
            raise InvalidInput(f"flow {flow.name!r} has no tasks")
        if any(demand.consumes for demand in graph.demands):
            raise InvalidInput(f"flow {flow.name!r} takes from the stock; it cannot run for ever")


def _overused(flows: Sequence[Flow]) -> Refused | None:
    """Is more work asked for in the long run than the workers can do? What arrives at any time may
    do so whenever it is allowed to."""
    threads = np.array([worker.threads for worker in flows[0].instance.cluster.workers])
    parts = [_Share.of(flow) for flow in flows]
    everywhere = np.ones((1, len(threads)), dtype=np.bool_)
    sets = np.unique(np.concatenate([everywhere, *(part.able for part in parts)]), axis=0)
    sets = sets[np.argsort(sets.sum(axis=1), kind="stable")]
    for some in np.array_split(sets, -(-len(sets) // SETS)):
        share, most = np.stack([part.on(some) for part in parts]), some @ threads
        over = np.flatnonzero(share.sum(axis=0) > most * (1 + 1e-9))
        if len(over):
            k = int(over[0])
            return _crowded(flows, share[:, k], np.flatnonzero(some[k]), int(most[k]))
    return None


def _crowded(flows: Sequence[Flow], share: Floats, workers: Ints, most: int) -> Refused:
    guilty = tuple(flow.name for flow, part in zip(flows, share, strict=True) if part > 0)
    total, where = float(share.sum()), workers_in_words(flows[0].instance, workers)
    return Refused(
        f"flows {', '.join(guilty)} use {total:.4g} threads of {where} all the time, even where "
        f"each task runs fastest; there are {most} ({total / most:.0%})",
        proven=True,
        flows=guilty,
    )


@dataclass(frozen=True, slots=True)
class _Share:
    """What a flow asks for: (tasks,) threads on average, and (tasks, w) where each may run."""

    threads: Floats
    able: Flags

    @staticmethod
    def of(flow: Flow) -> _Share:
        work = least_work(flow.instance) * flow.instance.graph.count
        return _Share(work / gap_of(flow), able_workers(flow.instance))

    def on(self, sets: Flags) -> Floats:
        """(sets,) threads of each set of workers that tasks confined to it occupy on average."""
        elsewhere = self.able.astype(np.float32) @ (~sets).T.astype(np.float32)
        return np.asarray(self.threads @ (elsewhere == 0), dtype=np.float64)


class _Admission:
    """One admission in the making."""

    def __init__(
        self, cluster: Cluster, flows: Sequence[Flow], repeated: Repeated, budget: Budget
    ) -> None:
        self.cluster, self.budget = cluster, budget
        self.until = time.perf_counter() + budget.seconds
        self.flows, self.served, self.length = repeated
        self.asked = {flow.name: flow for flow in flows}

    def decide(self) -> Admitted | Refused:
        refusals, cuts = [], self._cuts()
        members = [releases(self.flows, self.length, begin, self.length) for begin in cuts]
        whole = [_whole(each, self.length) for each in members]
        ways = len(cuts) + (not any(whole))
        for number, begin in enumerate(cuts):
            budget = self._part(ways - number)
            answer = self._at(begin, members[number], whole[number], budget)
            if isinstance(answer, Admitted) or answer.proven:
                return answer
            refusals.append(answer)
        answer = refusals[0] if any(whole) else self._overlapping(cuts[0], self._part(1))
        return self._in_slots(answer) if isinstance(answer, Refused) else answer

    def _in_slots(self, refused: Refused) -> Refused:
        """The same; its reason tells where dates come from that nobody has given."""
        slots = [
            f"{flow.name!r} in slots every {flow.period:.4g} s that end within "
            f"{flow.relative_deadline:.4g} s"
            for flow in self.flows
            if flow.name in self.served
        ]
        if not slots:
            return refused
        some = "; ".join([*slots[:SHOWN], *["..."] * (len(slots) > SHOWN)])
        why = "arrivals may just miss one" if self._arrive else "all together repeat too late"
        return replace(refused, reason=f"served, since {why}: {some}. {refused.reason}")

    @property
    def _arrive(self) -> bool:
        return any(isinstance(self.asked[name], SporadicFlow) for name in self.served)

    def _part(self, parts: int) -> Budget:
        """One of so many parts of what is left."""
        left = max(0.0, self.until - time.perf_counter())
        return Budget(seconds=left / parts, seed=self.budget.seed)

    def _cuts(self) -> list[float]:
        """Where the hyperperiod may begin: at releases, the latest first offsets first."""
        offsets = sorted({flow.offset for flow in self.flows}, reverse=True)
        return offsets[:CUTS]

    def _at(
        self, begin: float, members: list[Release], whole: bool, budget: Budget
    ) -> Admitted | Refused:
        """Nothing is left over at the end of the hyperperiod."""
        proves = whole and not self.served
        try:
            verdict = feasibility(unroll(self.cluster, members), budget)
        except InfeasibleInstance as error:
            return Refused(f"{error}", proves, _flows_of([error.task or ""], members))
        if isinstance(verdict, Feasible):
            return self._admitted(verdict.schedule, members, begin, self.length)
        return _refused(verdict, proves, members)

    def _overlapping(self, begin: float, budget: Budget) -> Admitted | Refused:
        """Some deadlines reach into the next hyperperiod, wherever it begins."""
        repeated = Flows(self.cluster, self.flows, self.length, begin)
        members = releases(self.flows, self.length, begin, self.length)
        most = max(1, min(HYPERPERIODS, int(LARGEST / size_of(self.flows, self.length))))
        try:
            found = cycle(repeated, most, budget)
        except InfeasibleInstance as error:
            return Refused(f"{error}", not self.served, _flows_of([error.task or ""], members))
        if isinstance(found, Cycle):
            return self._admitted(found.schedule, found.members, begin, found.length)
        return _refused(found, not self.served, members)

    def _admitted(
        self, schedule: Schedule, members: list[Release], begin: float, length: float
    ) -> Admitted:
        slots: dict[str, list[Release]] = {}
        for release in members:
            slots.setdefault(release.flow.name, []).append(release)
        bound = {
            name: response(schedule, own, length, self._gap(name)) for name, own in slots.items()
        }
        return Admitted(schedule, length, begin, bound, self.served)

    def _gap(self, name: str) -> float | None:
        """Seconds between arrivals of a flow that is served, at least; None for the others."""
        return gap_of(self.asked[name]) if name in self.served else None


def _whole(members: Sequence[Release], length: float) -> bool:
    """Do all deadlines lie within the hyperperiod?"""
    return all(r.at + r.flow.relative_deadline <= length * (1 + 1e-9) for r in members)


def _refused(verdict: Infeasible | Unknown, proves: bool, members: Sequence[Release]) -> Refused:
    if isinstance(verdict, Infeasible):
        return Refused(verdict.reason, proves, _flows_of(verdict.conflict, members))
    return Refused(verdict.reason, proven=False)


def _flows_of(tasks: Sequence[str], members: Sequence[Release]) -> tuple[str, ...]:
    """The flows whose unrolled tasks these are."""
    flow_of = {
        release.task_name(name): release.flow.name
        for release in members
        for name in release.flow.instance.graph.names
    }
    return tuple(dict.fromkeys(flow_of[task] for task in tasks if task in flow_of))
