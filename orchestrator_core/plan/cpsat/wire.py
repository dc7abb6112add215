"""What is asked of the solver's process and what it answers, as JSON: strict, data only."""

from __future__ import annotations

import msgspec

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidFormat, InvalidSchedule
from orchestrator_core.plan.schedule import Schedule


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long to search, and how.

    Attributes:
        until: unix time in seconds at which the search must be over.
        work: deterministic units of work (about a second each), or None for no such limit; with
            it, the search is the same on every machine.
        workers: search workers beside each other.
        seed: of the search, >= 0.
        gap: stop as soon as makespan / bound - 1 is at most this.
    """

    until: float
    work: float | None = None
    workers: int = 2
    seed: int = 0
    gap: float = 0.0


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known so far; each answer replaces the one before.

    Attributes:
        lower_bound: seconds.
        schedule: better than the incumbent, or None.
        status: of the search, in CP-SAT's words; empty while it is under way.
    """

    lower_bound: float
    schedule: Schedule | None = None
    status: str = ""


class _Question(msgspec.Struct, forbid_unknown_fields=True):
    instance: msgspec.Raw
    incumbent: msgspec.Raw
    lower_bound: float
    limits: Limits


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    lower_bound: float
    schedule: msgspec.Raw
    status: str


_NONE = msgspec.Raw(b"null")


def encode_question(
    instance: Instance, incumbent: Schedule | None, lower_bound: float, limits: Limits
) -> bytes:
    given = _NONE if incumbent is None else msgspec.Raw(incumbent.to_json())
    question = _Question(msgspec.Raw(instance.to_json()), given, lower_bound, limits)
    return msgspec.json.encode(question)


def decode_question(text: bytes) -> tuple[Instance, Schedule | None, float, Limits]:
    question = msgspec.json.decode(text, type=_Question)
    incumbent = bytes(question.incumbent)
    return (
        Instance.from_json(bytes(question.instance)),
        None if incumbent == b"null" else Schedule.from_json(incumbent),
        question.lower_bound,
        question.limits,
    )


def encode_answer(answer: Answer) -> bytes:
    """One line of JSON."""
    found = _NONE if answer.schedule is None else msgspec.Raw(answer.schedule.to_json())
    return msgspec.json.encode(_Line(answer.lower_bound, found, answer.status)) + b"\n"


def decode_answer(line: bytes) -> Answer | None:
    """The answer of a line, or None if the line is no answer."""
    try:
        wire = msgspec.json.decode(line, type=_Line)
        found = bytes(wire.schedule)
        schedule = None if found == b"null" else Schedule.from_json(found)
    except (msgspec.MsgspecError, InvalidFormat, InvalidSchedule, ValueError):
        return None
    return Answer(wire.lower_bound, schedule, wire.status)
