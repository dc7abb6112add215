"""Drawn: an instance, as a source gives it."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator_core.costs.instance import Instance


class Drawn(NamedTuple):
    """Attributes:
    tick: seconds of which all times of the instance are multiples.
    refusal: why the instance that was meant was refused at once, although it has a schedule.
    """

    instance: Instance
    tick: float = 1.0
    refusal: str = ""
