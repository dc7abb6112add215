"""Is the past as it was? Looked at row by row, from the two schedules and the events alone."""

from __future__ import annotations

from orchestrator_core.graph import TaskGraph
from orchestrator_core.plan.repair import Event, Failed, Finished, Replan, Running, Waiting
from orchestrator_core.plan.schedule import Assignment, Schedule


def wrong_of_past(
    graph: TaskGraph,
    before: Schedule,
    result: Replan,
    events: list[Event],
    *,
    lost: set[str],
    forgets: bool,
) -> list[str]:
    """What has ended stays unless it is made again, and that only if something was lost; what is
    running stays, unless its inputs cannot have been there; all else begins at `now` at the
    earliest, and not on a lost worker."""
    told = {event.task for event in events if isinstance(event, Finished | Running)}
    undone = {event.task for event in events if isinstance(event, Failed | Waiting)}
    told |= _with_consumers(graph, undone)
    old = {(run.task, run.instance): run for run in before.assignments}
    found, may_repeat = [], forgets or bool(lost) or any(isinstance(e, Failed) for e in events)
    if result.again and not may_repeat:
        found.append(f"{result.again} run again, though nothing was lost")
    for run in result.schedule.assignments:
        if run.task not in told:
            found += _wrong_of(old.get((run.task, run.instance)), run, result, lost)
    return found


def _with_consumers(graph: TaskGraph, names: set[str]) -> set[str]:
    """The tasks, and all that need them."""
    found = {graph.index[name] for name in names}
    for task in graph.topological.tolist():
        if found & set(graph.producer[graph.consumer == task].tolist()):
            found.add(task)
    return {graph.names[task] for task in found}


def _wrong_of(old: Assignment | None, run: Assignment, result: Replan, lost: set[str]) -> list[str]:
    now, eps = result.now, 1e-9 * max(1.0, result.makespan)
    if old is None or old.start >= now:
        wrong = run.start < now - eps or run.worker in lost
        return [f"{run} is in the past, or on a lost worker"] if wrong else []
    if run.task in result.again:
        return []
    is_same = (run.worker, run.mode, run.start) == (old.worker, old.mode, old.start)
    if old.end <= now or not (old.segments or run.segments):
        is_same &= run.end == old.end
    return [] if is_same else [f"{old} has become {run}"]
