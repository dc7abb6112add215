"""Drawn: an instance, as a source gives it."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator_core.costs.instance import Instance


class Drawn(NamedTuple):
    """Attributes:
    tick: seconds of which all times of the instance are multiples.
    refusal: why the instance that was meant was refused at once, although it has a schedule.
    whole: the instance of which all times are whole ticks, where that is another one.
    spread: the optimum is at most by this part above that of `whole`, and never below it.
    """

    instance: Instance
    tick: float = 1.0
    refusal: str = ""
    whole: Instance | None = None
    spread: float = 0.0
