"""An earlier run of a flow beside the one that unfolds now: does this one go on like that one?

Names are the same from run to run, so each task that is submitted is looked up and compared: its
kind, what it takes and waits for, what it asks for, and whether all that came before it then has
come before it now. Times are not compared. What that run ended without is not waited for.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.execute.paced import Part, parts
from orchestrator_core.execute.record import Burst, RunRecord
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect.sending.epoch import Submission


class Unfolding:
    """Attributes:
    run: the earlier run. left: what it ended without.
    departure: at which task this run left its way, and why; empty as long as it has not.
    """

    def __init__(self, run: RunRecord) -> None:
        self.run, self.left, self.departure = run, run.left, ""
        names = run.graph.names
        known = sum(burst.size for burst in run.bursts) == len(names)
        in_bursts = parts(names, run.bursts if known else (Burst(len(names)),))
        self._parts: list[Part] = [
            ([name for name in part if name not in self.left], burst) for part, burst in in_bursts
        ]
        self._part_of = {name: i for i, (names, _) in enumerate(self._parts) for name in names}
        self._came: set[str] = set()
        self._full = 0

    def take(self, batch: Sequence[Submission], graph: TaskGraph) -> None:
        """These were submitted now; `graph` is of them alone."""
        for submission in batch:
            if self.departure:
                return
            why = self._differs(submission, graph)
            self.departure = f"task {submission.name!r} {why}" if why else ""
            self._came.add(submission.name)
        if not self.departure and batch:
            self.departure = self._left_out(batch)

    def coming(self) -> list[Part]:
        """What is still to come, in order; the rest of a burst that has begun comes at once.
        Nothing, if all that comes is a burst that nobody waited for."""
        found: list[Part] = []
        for names, burst in self._parts[self._full :]:
            left = [name for name in names if name not in self._came]
            if len(left) == len(names):
                found.append((left, burst))
            elif left:
                found.append((left, Burst(len(left))))
        return found if any(names for names, _ in found) else []

    def _differs(self, submission: Submission, now: TaskGraph) -> str:
        """What is not as it was then; empty if nothing."""
        then = self.run.graph
        place = then.index.get(submission.name)
        if place is None:
            return "was not there"
        if then.kind(place) != submission.kind:
            return f"was of kind {then.kind(place)!r}, and is {submission.kind!r}"
        into = then.in_edges(place)
        takes = then.nbytes[into] > 0
        taken = {then.names[i] for i in then.producer[into[takes]].tolist()}
        waited = {then.names[i] for i in then.producer[into[~takes]].tolist()}
        if taken != set(submission.after):
            return "took other inputs"
        if not set(submission.waits_for) <= waited | taken:
            return "waited for others"
        here = now.index[submission.name]
        if then.demand(int(then.mode_ptr[place])) != now.demand(int(now.mode_ptr[here])):
            return "asked for other resources or workers"
        return ""

    def _left_out(self, batch: Sequence[Submission]) -> str:
        """A task of an earlier burst that has not come although a later one has."""
        latest = max(self._part_of.get(submission.name, 0) for submission in batch)
        while self._full < latest:
            left = [name for name in self._parts[self._full][0] if name not in self._came]
            if left:
                return f"task {left[0]!r} has not come before {batch[-1].name!r}"
            self._full += 1
        return ""
