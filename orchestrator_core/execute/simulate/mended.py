"""Mended: a plan that is followed and changed on the way, simulated many times.

A director looks at its run some times a second, and where tasks take longer or shorter than
believed it places the rest anew if that ends sooner (`execute.live`). So a plan is worth more than
a rehearsal says that keeps to it whatever happens.
"""

from __future__ import annotations

from copy import copy

from orchestrator_core.execute.mending_rules import PAUSE, WORTH, WORTH_SECONDS
from orchestrator_core.execute.simulate.compiling import at_once
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.mended import Mending, run_mended
from orchestrator_core.execute.simulate.kernel.outcome import Came
from orchestrator_core.execute.simulate.kernel.planned import Plan
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.room import with_room
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.expand import frozen

CALM = 0.02
"""Part of the remaining time that the end may be off before a change is thought of."""


class Mended(Rehearsal):
    """A rehearsal in which what has not begun goes elsewhere where that ends sooner.

    What is believed of durations and links is the instance; threads are all that is thought of.
    """

    _believed: Floats | None = None

    def believing(self, seconds: Floats) -> Mended:
        """The same plan, whose director believes these (modes, workers) seconds."""
        other = copy(self)
        other._believed = frozen(seconds)
        return other

    def _came(self, job: Job, plan: Plan, prefetch: bool) -> Came:
        believed = self.units.problem.seconds if self._believed is None else self._believed
        mending = Mending(believed, PAUSE, WORTH, WORTH_SECONDS, CALM)

        def run(room: int) -> Came:
            return at_once(run_mended, job, plan, mending, prefetch, room)

        return with_room(run, job, self.units.problem)
