"""Simulation: what a plan, and what Dask's own policy, would do with given durations.

    replay              a plan carried out as promised: same places, same order, other durations
    simulate_placed     Dask with a plan's places and order: late fetches, tasks that overtake,
                        unless tasks are held and outputs sent ahead
    simulate_default    Dask left to itself: is a plan worth adopting?

All are deterministic, run no task and open no connection. None knows limits of memory: Dask does
not place by memory, and a plan carried out earlier than planned holds its outputs longer.
"""

from __future__ import annotations

from orchestrator_core.execute.simulate.rehearsal import simulate_placed
from orchestrator_core.execute.simulate.replay import replay
from orchestrator_core.execute.simulate.unplanned import simulate_default

__all__ = ["replay", "simulate_default", "simulate_placed"]
