"""Mended: a plan that is followed and changed on the way, simulated many times.

A director looks at its run some times a second, and where tasks take longer or shorter than
believed it places the rest anew if that ends sooner (`execute.live`). So a plan is worth more than
a rehearsal says that keeps to it whatever happens.
"""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate.compiling import at_once
from orchestrator_core.execute.simulate.kernel.job import most_transfers
from orchestrator_core.execute.simulate.kernel.mended import Mending, run_mended
from orchestrator_core.execute.simulate.outcome import Outcome
from orchestrator_core.execute.simulate.rehearsal import NO_HOLDS, Rehearsal

PAUSE, WORTH, LEAST = 0.25, 0.05, 0.1
"""Seconds between two looks; part of the remaining time, and seconds, that a change must save."""

CALM = 0.02
"""Part of the remaining time that the end may be off before a change is thought of."""

ROOM = 2
"""Transfers for which there is room at first, for each need: tasks that are moved take more."""


class Mended(Rehearsal):
    """A rehearsal in which what has not begun goes elsewhere where that ends sooner.

    What is believed of durations and links is the instance; threads are all that is thought of.
    """

    def run(
        self,
        seconds: ArrayLike | None = None,
        holds: Mapping[str, Hold] = NO_HOLDS,
        prefetch: bool = False,
    ) -> Outcome:
        """What comes about; arguments and errors as of `simulate_placed`."""
        job, plan = self.prepared(seconds, holds)
        mending = Mending(self.units.problem.seconds, PAUSE, WORTH, LEAST, CALM)
        bound = most_transfers(self.units.problem)
        room = min(bound, ROOM * len(job.in_unit) + 1)
        while True:
            came = at_once(run_mended, job, plan, mending, prefetch, room)
            if not came.full:
                return Outcome(self.instance, self.units, self.mode, came)
            room = min(bound, 2 * room)
