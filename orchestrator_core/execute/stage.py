"""Stage: how far a planned task has come."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """How far a planned task has come."""

    PLANNED = "planned"
    HELD = "held"
    PLACED = "placed"
    RELEASED = "released"
    FINISHED = "finished"


# Looking up a member of an enumeration takes longer than all else that an event needs.
PLANNED, HELD, PLACED, RELEASED, FINISHED = Stage
