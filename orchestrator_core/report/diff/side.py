"""Side: one of two runs, in figures; and which tasks and workers only one of them has."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Worker


@dataclass(frozen=True, slots=True)
class Side:
    """One run.

    Attributes:
        predicted, lower_bound: seconds, None without a plan; planner is empty then.
        error: as of `RunRecord`.
        work: seconds of all its executions. fetching: seconds that tasks waited for their inputs
            to be fetched.
    """

    run_id: str
    flow: str
    started_at: float
    status: str
    mode: str
    reason: str
    seconds: float
    predicted: float | None
    lower_bound: float | None
    error: float | None
    planner: str
    tasks: int
    workers: int
    work: float
    fetching: float

    @staticmethod
    def of(run: RunRecord) -> Side:
        plan = run.plan
        return Side(
            run_id=run.run_id,
            flow=run.flow,
            started_at=run.started_at,
            status=run.status,
            mode=run.mode,
            reason=run.reason,
            seconds=run.seconds,
            predicted=plan.forecast if plan else None,
            lower_bound=plan.lower_bound if plan else None,
            error=run.error,
            planner=plan.planner if plan else "",
            tasks=run.graph.n_instances,
            workers=len(run.cluster),
            work=sum(record.seconds for record in run.tasks),
            fetching=sum(record.transfer_seconds for record in run.tasks),
        )


@dataclass(frozen=True, slots=True)
class Names:
    """Names that only the second has (`added`), that only the first has (`gone`), and those that
    both have but that are not what they were (`changed`, with what)."""

    added: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[tuple[str, str], ...] = ()


def of_one_flow(one: RunRecord, other: RunRecord) -> bool:
    """Have they the name or the origin in common, as far as the origins are known?

    A flow may be renamed, or its file be moved; another flow of that name has neither its file nor
    its tasks.
    """
    if one.origin and one.origin == other.origin:
        return True
    known = one.origin and other.origin
    return one.flow == other.flow and not (
        known and set(one.graph.kinds).isdisjoint(other.graph.kinds)
    )


def tasks_of(before: RunRecord, after: RunRecord) -> Names:
    """The tasks; one counts as changed if it needs other inputs."""
    was, now = _inputs(before), _inputs(after)
    return Names(
        tuple(name for name in now if name not in was),
        tuple(name for name in was if name not in now),
        tuple((name, "inputs") for name in now if name in was and was[name] != now[name]),
    )


def _inputs(run: RunRecord) -> dict[str, frozenset[str]]:
    names = run.graph.names
    found: dict[str, set[str]] = {name: set() for name in names}
    ends = zip(run.graph.producer.tolist(), run.graph.consumer.tolist(), strict=True)
    for producer, consumer in ends:
        found[names[consumer]].add(names[producer])
    return {name: frozenset(inputs) for name, inputs in found.items()}


def workers_of(before: RunRecord, after: RunRecord) -> Names:
    """The workers; changed are those of another kind, speed, size or price."""
    was = {worker.name: worker for worker in before.cluster.workers}
    now = {worker.name: worker for worker in after.cluster.workers}
    both = [(was[name], now[name]) for name in now if name in was]
    return Names(
        tuple(name for name in now if name not in was),
        tuple(name for name in was if name not in now),
        tuple((new.name, _difference(old, new)) for old, new in both if old != new),
    )


def _difference(old: Worker, new: Worker) -> str:
    """``speed 2 -> 4, threads 1 -> 2``."""
    fields = ("kind", "threads", "memory", "speed", "price")
    pairs = [(name, getattr(old, name), getattr(new, name)) for name in fields]
    told = [f"{name} {_shown(a)} → {_shown(b)}" for name, a, b in pairs if a != b]
    return ", ".join(told) or "resources"


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
