"""What comes of an admission (stage 3, real time)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Admitted:
    """The flows fit.

    Attributes:
        schedule: of one hyperperiod; task names are ``flow/number/task``. Repeat it every
            `hyperperiod` seconds from `begin` on; what is released before `begin` has its place in
            the repetition before that one. It may reach over its end where deadlines do.
        hyperperiod: in seconds; several times that of the flows where only so a plan repeats.
        response: by flow, the longest time from a release or an arrival to its last end; seconds.
        served: flows that run in slots of a server.
    """

    schedule: Schedule
    hyperperiod: float
    begin: float
    response: Mapping[str, float]
    served: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The flows are not admitted.

    Attributes:
        reason: one sentence for a person.
        proven: is it proven that they do not fit? Otherwise a longer budget may show that they do;
            or nothing, where the reason speaks of slots: whoever runs what has arrived as soon as
            something is free may keep what no slots can.
        flows: those that are in conflict, where that is known.
    """

    reason: str
    proven: bool
    flows: tuple[str, ...] = ()
