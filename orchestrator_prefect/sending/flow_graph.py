"""From submissions to a TaskGraph (stage 1), and from a schedule to the order that Dask is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import Any

import numpy as np

from orchestrator_core.execute.directives import Hold, Slot, keyed
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.text import as_name
from orchestrator_core.origin import origin_of
from orchestrator_core.plan.schedule import Schedule
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.waited_for import waited_for

SOME = 1.0
"""Bytes of an output of which nothing is known: more than the 0 bytes of one that is not taken."""


NUMBERS = ("seconds", "memory", "output_bytes", "release", "due", "weight", "deadline")
"""What a hint says in numbers; columns of the graph have the same names."""

UNNAMED = "<lambda>"
"""What all functions without a name are called; they are known by their code."""


class Occurrences:
    """Names for submissions that are the same from run to run: `load-0`, `load-1`, `train-0`.

    What follows the last dash is the number, so no two tasks can come to the same name.
    """

    def __init__(self) -> None:
        self._next: Counter[str] = Counter()
        self._lock = Lock()

    def name(self, task_name: str) -> str:
        name = as_name(task_name)
        with self._lock:
            number = self._next[name]
            self._next[name] += 1
        return as_name(f"{name}-{number}")


def kind_of(task: Any) -> str:
    """What durations are learned about: the function, and the task's own name if it was given one.

    One function under several names (`with_options(name=...)`) is several kinds of work.
    """
    function = getattr(task.fn, "__name__", task.name)
    key = _key(task)
    return as_name(key if task.name == function else f"{key}:{task.name}")


def _key(task: Any) -> str:
    """The function by its name and by where it stands, so that an edit of the file costs nothing
    that was learned. Prefect's own key has the code in it, and the number of each line."""
    origin = origin_of(task.fn)
    name = origin.rpartition(":")[2].rpartition(".")[2]
    if name in ("", UNNAMED):
        return str(task.task_key)
    return f"{name}-{sha256(origin.encode('utf-8', 'replace')).hexdigest()[:8]}"


def flow_graph(submissions: Iterable[Submission]) -> TaskGraph:
    """The graph of these submissions; what they take from tasks outside is left out.

    An output that a task takes is an edge of the output's size; a task whose end is only waited
    for, by it or by the flow's code, an edge of 0 bytes.
    """
    members = list(submissions)
    builder = TaskGraph.build()
    names = {
        builder.task(
            member.name,
            kind=member.kind,
            resources=member.annotations.get("resources") or {},
            eligible=_eligible(member),
            features=member.features,
            **{"output_bytes": SOME, **_stated(member)},
        )
        for member in members
    }
    waited = waited_for(members)
    for member in members:
        taken = dict.fromkeys(member.after)
        for producer in taken:
            if producer in names:
                builder.edge(producer, member.name)
        for earlier in dict.fromkeys((*member.waits_for, *waited.get(member.name, ()))):
            if earlier in names and earlier not in taken:
                builder.edge(earlier, member.name, nbytes=0.0)
    return builder.done()


def _stated(submission: Submission) -> dict[str, Any]:
    """What is said of the task in numbers."""
    hint = submission.hint
    if hint is None:
        return {}
    stated = {name: getattr(hint, name) for name in NUMBERS}
    return {name: value for name, value in stated.items() if value is not None}


def _eligible(submission: Submission) -> Sequence[str] | None:
    workers = submission.annotations.get("workers")
    if not workers or submission.annotations.get("allow_other_workers"):
        # A pin of the user's comes before a hint.
        return None if submission.hint is None else submission.hint.workers
    return [str(workers)] if isinstance(workers, str | int) else [str(each) for each in workers]


def slots(schedule: Schedule, submissions: Iterable[Submission]) -> dict[str, Slot]:
    """Where each submission goes, and in which order, as the schedule says; by key."""
    key_of = {submission.name: submission.key for submission in submissions}
    answer: dict[str, Slot] = {}
    for rank, row in enumerate(np.argsort(schedule.start, kind="stable").tolist()):
        key = key_of.get(schedule.task_names[schedule.task[row]])
        if key is not None:
            worker = schedule.worker_names[schedule.worker[row]]
            answer[key] = Slot(worker, rank, int(schedule.mode[row]))
    return answer


def note_starts(schedule: Schedule, submissions: Iterable[Submission]) -> None:
    """Tell each submission when the schedule begins it."""
    names, starts = schedule.task_names, schedule.start.tolist()
    at = {names[task]: start for task, start in zip(schedule.task.tolist(), starts, strict=True)}
    for submission in submissions:
        submission.start = at.get(submission.name)


def holds(by_name: Mapping[str, Hold], submissions: Iterable[Submission]) -> dict[str, Hold]:
    """What waits for what, by key; what speaks of tasks that were not submitted is left out."""
    return keyed(by_name, {each.name: each.key for each in submissions})
