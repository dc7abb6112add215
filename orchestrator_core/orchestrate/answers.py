"""Answers: what a stored schedule comes to at certain prices, kept to be told again.

To retime a schedule, to bound it and to simulate it loads compiled code, which takes longer than
all else. Where neither prices nor schedule nor code have changed, the answer is what it was.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.schedule_wire import ScheduleWire, schedule_from_wire, schedule_to_wire
from orchestrator_core.store.base import StoredSchedule

FORMAT = "orchestrator.answer/1"

PLACES = 512
"""Answers that are kept; one that comes to another's place takes it."""

CODE = ("costs", "plan", "execute", "orchestrate")
"""Folders of what makes an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A schedule at the prices that were asked for, and the seconds that it is expected to take."""

    result: PlanResult
    expected: float


class _Wire(msgspec.Struct, forbid_unknown_fields=True):
    """`question` is a digest; `stored` says which schedule the answer is about."""

    format: str
    question: str
    stored: str
    schedule: ScheduleWire
    lower_bound: float
    bound_method: str
    planner: str
    reason: str
    objective: str
    values: tuple[float, ...]
    expected: float


def question_of(instance: Instance, pessimistic: Instance | None, objective: str) -> str:
    """A digest of all that an answer depends on beside the schedule that is stored."""
    found = hashlib.sha256(f"{FORMAT} {objective} {_code()}\n".encode())
    for priced in (instance, pessimistic):
        found.update(b"" if priced is None else priced.to_json())
        found.update(b"\n")
    return found.hexdigest()


def place_of(question: str) -> str:
    """The name under which a store keeps the answer."""
    return f"answer {int(question[:8], 16) % PLACES}"


def encode_answer(answer: Answer, question: str, stored: StoredSchedule) -> bytes:
    """JSON of the answer that the stored schedule gives to this question."""
    result = answer.result
    return msgspec.json.encode(
        _Wire(
            format=FORMAT,
            question=question,
            stored=_which(stored),
            schedule=schedule_to_wire(result.schedule),
            lower_bound=result.lower_bound,
            bound_method=result.bound_method,
            planner=result.planner,
            reason=result.reason,
            objective=result.objective,
            values=result.values,
            expected=answer.expected,
        )
    )


def decode_answer(text: bytes, question: str, stored: StoredSchedule) -> Answer | None:
    """What `encode_answer` wrote; None if it is about something else.

    Raises:
        InvalidFormat: if its schedule is none.
    """
    try:
        wire = msgspec.json.decode(text, type=_Wire)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    if (wire.format, wire.question, wire.stored) != (FORMAT, question, _which(stored)):
        return None
    result = PlanResult(
        schedule=schedule_from_wire(wire.schedule),
        lower_bound=wire.lower_bound,
        bound_method=wire.bound_method,
        planner=wire.planner,
        reason=wire.reason,
        seconds=0.0,
        objective=wire.objective,
        values=wire.values,
    )
    return Answer(result, wire.expected)


def _which(stored: StoredSchedule) -> str:
    """Another schedule under the same key was made at another time, or for other prices."""
    return f"{stored.created_at!r} {stored.makespan!r} {stored.prices}"


@cache
def _code() -> str:
    """A digest of the sources; no answer outlives a change of what made it."""
    package = Path(__file__).resolve().parent.parent
    found = hashlib.sha256()
    for folder in CODE:
        for file in sorted((package / folder).rglob("*.py")):
            found.update(f"{file.relative_to(package)}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()
