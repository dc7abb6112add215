"""Objective: what a plan minimises (stage 3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Objective:
    """What is minimised: criteria by name, the most important first."""

    criteria: tuple[str, ...] = ("makespan",)


MAKESPAN = Objective()
