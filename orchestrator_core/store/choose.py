"""Two small judgements that every store makes alike: which schedule wins, which run is meant."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator_core.errors import UnknownRun
from orchestrator_core.store.base import StoredSchedule


def beats(new: StoredSchedule, old: StoredSchedule) -> bool:
    """Is `new` better: a smaller makespan, or the same with a larger lower bound?"""
    return (new.makespan, -new.lower_bound) < (old.makespan, -old.lower_bound)


def the_run(asked: str, run_ids: Iterable[str]) -> str:
    """The one run id that is `asked`, or begins so.

    Raises:
        UnknownRun: if there is none, or more than one.
    """
    matching = [run_id for run_id in run_ids if asked and run_id.startswith(asked)]
    if asked in matching:
        return asked
    if not matching:
        raise UnknownRun(
            f"no run {asked!r} is stored; list the runs with `orchestrator runs`, "
            "and give an id or the beginning of one"
        )
    if len(matching) > 1:
        some = ", ".join(sorted(matching)[:3])
        raise UnknownRun(
            f"{len(matching)} runs begin with {asked!r} ({some}, ...); give more of its digits"
        )
    return matching[0]
