"""Mended: a plan that is followed and changed on the way, simulated many times.

A director looks at its run some times a second, and where tasks take longer or shorter than
believed it places the rest anew if that ends sooner (`execute.live`). So a plan is worth more than
a rehearsal says that keeps to it whatever happens.
"""

from __future__ import annotations

from orchestrator_core.execute.mending_rules import PAUSE, WORTH, WORTH_SECONDS
from orchestrator_core.execute.simulate.compiling import at_once
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.mended import Mending, run_mended
from orchestrator_core.execute.simulate.kernel.outcome import Came
from orchestrator_core.execute.simulate.kernel.planned import Plan
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.room import with_room

CALM = 0.02
"""Part of the remaining time that the end may be off before a change is thought of."""


class Mended(Rehearsal):
    """A rehearsal in which what has not begun goes elsewhere where that ends sooner.

    What is believed of durations and links is the instance; threads are all that is thought of.
    """

    def _came(self, job: Job, plan: Plan, prefetch: bool) -> Came:
        mending = Mending(self.units.problem.seconds, PAUSE, WORTH, WORTH_SECONDS, CALM)

        def run(room: int) -> Came:
            return at_once(run_mended, job, plan, mending, prefetch, room)

        return with_room(run, job, self.units.problem)
