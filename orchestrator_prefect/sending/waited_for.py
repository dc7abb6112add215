"""Which tasks a submission follows because the flow's code waited for them, and in which bursts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from orchestrator_core.execute.record import Burst
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.waits import Waited


def waited_for(submissions: Sequence[Submission]) -> dict[str, list[str]]:
    """By name: the tasks that each follows; what it follows by its inputs is left out."""
    past = {submission.name: submission.past for submission in submissions}
    first: dict[Waited, list[str]] = defaultdict(list)
    for submission in submissions:
        inputs = (*submission.after, *submission.waits_for)
        if submission.past.count and all(past.get(name) is not submission.past for name in inputs):
            first[submission.past].append(submission.name)
    return {
        name: list(waited.edges(position, len(names)))
        for waited, names in first.items()
        for position, name in enumerate(names)
    }


def bursts(submissions: Iterable[Submission], ends: Mapping[str, float]) -> tuple[Burst, ...]:
    """What was submitted in one go, in order.

    Args:
        submissions: in order. ends: seconds from the run's first submission at which tasks ended.
    """
    found: list[Burst] = []
    before, known = 0.0, 0
    for (waited, went), group in groupby(submissions, lambda each: (each.past, each.went)):
        after = waited.new if waited.count > known else ()
        begun = max((ends[name] for name in after if name in ends), default=before)
        pause = max(0.0, went - max(before, begun))
        found.append(Burst(sum(1 for _ in group), after, pause))
        before, known = max(before, went), max(known, waited.count)
    return tuple(found)
