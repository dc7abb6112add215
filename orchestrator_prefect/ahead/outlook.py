"""Outlook: what a run is expected to submit, by earlier runs that went the same way so far.

The plan for it is made with the first burst. Tasks that are still to come are announced with the
keys that they will have, so that the scheduler mends their part of the plan like any other; their
slots take effect when they come. A run that leaves the way is planned from what is known then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from orchestrator_core.clean_text import clean
from orchestrator_core.execute.advice import Advice, Advisor, Recalls
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.part import part
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect.ahead.look_ahead import look_ahead, whole_graph
from orchestrator_prefect.ahead.unfolding import Unfolding
from orchestrator_prefect.sending.epoch import Submission

HISTORIES = 8
"""Different earlier runs that are compared with, the newest first."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to do with an epoch.

    Attributes:
        graph: what was planned: the epoch, and what is foreseen to follow.
        advice: None where nobody was asked, as what came had been foreseen.
        foreseen: tasks of the graph that come later.
        aside: of what was submitted, what is left to Dask, as earlier runs ended without it.
        gone: keys that may have been announced before and will not come. remark: for people.
    """

    graph: TaskGraph
    advice: Advice | None
    foreseen: tuple[Submission, ...] = ()
    aside: frozenset[str] = frozenset()
    gone: tuple[str, ...] = ()
    remark: str = ""


class Outlook:
    """Plans epochs one after the other, with what will follow; not for several threads at once.

    Args:
        flow: its name. key_of: the key of the task of some name, submitted or not.
        origin: where the flow's code stands, if that is known.
    """

    def __init__(self, flow: str, key_of: Callable[[str], str], origin: str = "") -> None:
        self._flow, self._key_of, self._origin = flow, key_of, origin
        self._earlier: Iterator[RunRecord] | None = None
        self._ways: list[Unfolding] = []
        self._taken: list[tuple[Sequence[Submission], TaskGraph]] = []
        self._followed: Unfolding | None = None
        self._looks = True

    def goes_on(self, batch: Sequence[Submission], graph: TaskGraph) -> bool:
        """Note that these were submitted; were they foreseen, as they are?

        Args:
            graph: of these alone.
        """
        self._taken.append((batch, graph))
        for way in self._ways:
            way.take(batch, graph)
        return self._followed is not None and not self._followed.departure

    def plan(self, advisor: Advisor, graph: TaskGraph, cluster: Cluster) -> Step:
        """What to do with an epoch that was not foreseen; `graph` is of it alone."""
        gone = tuple(map(self._key_of, self.left_over()))
        left, self._followed = self._followed, None
        way = self._way(advisor)
        step = None if way is None else self._together(advisor, graph, cluster, way)
        remark = self._remark(left, is_foreseen=step is not None)
        if step is None:
            step = Step(graph, advisor.advise(graph, cluster, self._flow))
        return replace(step, gone=gone, remark=remark)

    @property
    def aside(self) -> frozenset[str]:
        """What the earlier run ended without that is followed."""
        return frozenset() if self._followed is None else self._followed.left

    def left_over(self) -> list[str]:
        """What was foreseen and has not come; nothing if no earlier run is followed."""
        way = self._followed
        return [] if way is None else [name for names, _ in way.coming() for name in names]

    def _way(self, advisor: Advisor) -> Unfolding | None:
        """The newest earlier run that went on as this one has so far, and then further."""
        if self._looks and isinstance(advisor, Recalls):
            for way in self._all_ways(advisor):
                if not way.departure and (way.coming() or way.left):
                    return way
        return None

    def _all_ways(self, advisor: Recalls) -> Iterator[Unfolding]:
        yield from self._ways
        if self._earlier is None:
            self._earlier = islice(advisor.history(self._flow, self._origin), HISTORIES)
        for run in self._earlier:
            way = Unfolding(run)
            for batch, graph in self._taken:
                way.take(batch, graph)
            self._ways.append(way)
            yield way

    def _together(
        self, advisor: Advisor, graph: TaskGraph, cluster: Cluster, way: Unfolding
    ) -> Step | None:
        """The epoch planned with what will follow; None if that cannot be planned."""
        coming, aside = way.coming(), way.left.intersection(graph.names)
        now = part(graph, graph.index.keys() - aside) if aside else graph
        whole = whole_graph(now, way.run.graph, coming)
        if not len(whole) or not (coming or aside):
            return None

        def advise(asked: TaskGraph) -> Advice:
            return advisor.advise(asked, cluster, self._flow)

        advice = look_ahead(advise, whole, cluster, coming)
        if advice.plan is None:
            # Such as a task whose time nobody knows; the next epoch will be no different.
            self._looks = False
            return None
        self._followed = way
        names = [name for burst, _ in coming for name in burst]
        kinds = (whole.kind(whole.index[name]) for name in names)
        foreseen = tuple(
            Submission(name, kind, self._key_of(name))
            for name, kind in zip(names, kinds, strict=True)
        )
        return Step(whole, advice, foreseen, aside)

    def _remark(self, left: Unfolding | None, *, is_foreseen: bool) -> str:
        """What people are to know of a run that goes another way than was foreseen."""
        first = len(self._taken) == 1 and not is_foreseen and self._ways
        known = left or (self._ways[0] if first else None)
        if known is None or not known.departure:
            return ""
        instead = "as another earlier run went on" if is_foreseen else "from what is known"
        return (
            f"This run goes another way than run {known.run.run_id[:8]}: "
            f"{clean(known.departure)}. It is planned {instead}."
        )
