"""Unplanned: Dask left to itself, made ready to be simulated many times."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.believed import beliefs, expected, first_modes, reordered
from orchestrator_core.execute.simulate.compiling import at_once
from orchestrator_core.execute.simulate.kernel.beliefs import Beliefs
from orchestrator_core.execute.simulate.kernel.depth_first import depth_first
from orchestrator_core.execute.simulate.kernel.job import Job, job_of
from orchestrator_core.execute.simulate.kernel.outcome import Came
from orchestrator_core.execute.simulate.kernel.unplanned import run_unplanned
from orchestrator_core.execute.simulate.outcome import Outcome, schedule_of
from orchestrator_core.execute.simulate.replay import seconds_of
from orchestrator_core.execute.simulate.room import with_room
from orchestrator_core.execute.simulate.units import units_of
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.expand import frozen
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.settings.dask_policy import DaskPolicy


def simulate_default(
    instance: Instance,
    believed: Mapping[str, float] | None = None,
    seed: int = 0,
    policy: DaskPolicy | None = None,
) -> Schedule:
    """The schedule that Dask would come to by itself.

    Breaks no rule but memory, deadline and stock, which Dask does not know.

    Args:
        believed: seconds that Dask expects of each kind of task; what is missing is taken as the
            mean over the kind's tasks and their eligible workers.
        seed: in which order workers are taken that Dask sees no difference between, however fast
            they are, and when work is stolen; 0 for the cluster's own, and the middle of each
            interval.
        policy: how the scheduler is set; None for `DaskPolicy.configured`.

    Raises:
        InvalidInstance: if a believed duration is no finite number >= 0.
    """
    return schedule_of(Unplanned(instance, believed, policy).run(seed))


class Unplanned:
    """What does not change from one simulation of Dask's own policy to the next.

    What it decides from is what Dask knows: one duration for each kind of task on all workers alike
    (`believed`), one bandwidth for all links, and who holds what. What then happens takes the
    instance's own durations and links. As distributed 2026.8 does it:

        root-like task     of a kind with more than 2 tasks a thread and few dependencies: waits on
                           the scheduler, goes to the least busy worker with room (saturation) after
                           each task that ends
        any other task     is placed when its inputs are done: among the workers that hold an input,
                           where it is believed to start first (`worker_objective`); with no inputs,
                           on the least occupied worker with a free thread, if there is one
        stealing           once in an interval, at any moment of the first; see
                           `kernel/stealing.py`
        order on a worker  by priority: depth first through the graph, as dask.order does roughly;
                           a worker that has ended a task begins the next one that it has before it
                           hears of what that made ready

    Coarser than the original: kinds stand for both prefixes and groups, `believed` does not change
    during the run, stealing takes no time, and a fetched copy is not a source for further fetches.
    Of a task with modes it runs the first; checkpoints are not used. It knows no memory, no dates
    but releases, and no stock.
    """

    def __init__(
        self,
        instance: Instance,
        believed: Mapping[str, float] | None = None,
        policy: DaskPolicy | None = None,
    ) -> None:
        """Arguments and errors as of `simulate_default`."""
        self.instance = instance
        self.units = units_of(instance)
        problem = self.units.problem
        self._mode: Ints = first_modes(instance)[problem.task]
        seconds = expected(instance, believed or {})
        self._beliefs = beliefs(
            instance, problem, self._mode, seconds, policy or DaskPolicy.configured()
        )
        inputs = problem.in_ptr, problem.in_task
        priority = at_once(depth_first, problem.topological, *inputs, problem.out_ptr)
        self._job = job_of(problem, self._mode, priority)

    def run(self, seed: int = 0, seconds: ArrayLike | None = None) -> Outcome:
        """What comes about, with these (modes, workers) seconds if they are given."""
        table = frozen(seconds_of(self.instance, seconds))
        came = self._run(self._job._replace(seconds=table), reordered(self._beliefs, seed))
        return Outcome(self.instance, self.units, self._mode, came)

    def _run(self, job: Job, known: Beliefs) -> Came:
        """By compiled code."""

        def run(room: int) -> Came:
            return at_once(run_unplanned, job, known, room)

        return with_room(run, job, self.units.problem)
