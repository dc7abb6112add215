"""Is a plan worth following? Only if it beats Dask's own policy whatever the durations.

Both are simulated with expected durations, with durations that are rarely exceeded, and with some
that are drawn at random. The plan is mended on the way, as it will be, and Dask steals. Dask does
not see which worker is fast, so which one gets the first tasks is chance: it is judged by the
mean over several such chances, for who is unlucky once in a while waits for it, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.measures import NONE, Measures, choose_measures
from orchestrator_core.execute.simulate.draws import draws
from orchestrator_core.execute.simulate.mended import Mended
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.execute.simulate.unplanned import Unplanned
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.orchestrate.alike import ALIKE, are_alike
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.plan.schedule import Schedule

SEEDS = 7
LARGE = 1_000
"""Runs of Dask's own policy, each with another order of workers; fewer if the run is short for its
number of tasks, and for graphs of more tasks than `LARGE`."""

SIMULATED_TASKS = 10_000
"""Tasks that are simulated in each race at most, and those of one run at least."""

SHARE_OF_RUN = 0.02
"""Part of the time that the plan takes which may be spent on simulating Dask's own policy."""

SECONDS_A_TASK = 2e-6
"""About what it takes to simulate a task, under the plan and under Dask's policy."""

NO_LESSONS = Lessons()

LEAST_SAVED = 0.02
"""Seconds that a plan must save: about what deciding and steering cost."""


@dataclass(frozen=True, slots=True)
class Race:
    """Makespans in seconds, the means over the same durations: of the plan, and of Dask alone.

    Attributes:
        chances: what Dask alone came to in each simulation, before lessons of earlier runs.
    """

    planned: float
    default: float
    chances: tuple[float, ...] = ()

    @property
    def gain(self) -> float:
        """Part of Dask's time that the plan saves."""
        return 1.0 - self.planned / self.default if self.default > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison behind a decision.

    Attributes:
        adopt: follow the plan? reason: one sentence for people.
        expected, pessimistic, drawn: the races at expected durations, at durations that are rarely
            exceeded, and at durations drawn from what earlier runs showed.
        measures: what is to be done beside placing, if the plan is followed.
    """

    adopt: bool
    reason: str
    expected: Race
    pessimistic: Race
    drawn: Race
    measures: Measures = NONE

    @property
    def default_predicted(self) -> float:
        """Seconds that Dask alone will take: what a forecast of the plan is to be held against."""
        return self.drawn.default

    def told(self, predicted: float) -> str:
        """The reason, beside a forecast of so many seconds: people see both, and are not to wonder
        which of two figures holds."""
        if not self.adopt:
            return self.reason
        return _why(predicted, self.default_predicted, self.pessimistic)

    @property
    def holds(self) -> Mapping[str, Hold]:
        """By task name: what is kept back although it is ready."""
        return self.measures.holds

    @property
    def prefetch(self) -> bool:
        """Are outputs sent ahead?"""
        return self.measures.prefetch


def judge(
    expected: Instance,
    pessimistic: Instance,
    schedule: Schedule,
    min_gain: float,
    measures: Measures | None = None,
    lessons: Lessons = NO_LESSONS,
    chances: int = SEEDS,
    mends: bool = True,
    bound: float = 0.0,
) -> Verdict:
    """Let the schedule race against Dask's own policy.

    Args:
        expected: what the plan was made for.
        pessimistic: the same graph and cluster with durations that are rarely exceeded.
        min_gain: part of Dask's time that the plan must save at expected and at drawn durations,
            >= 0; if tasks run long it must not be slower.
        measures: what is done beside placing; None lets them be chosen here.
        lessons: what earlier runs really took, beside their simulations.
        chances: most runs of Dask's own policy in each race; fewer take less time.
        mends: is it simulated that the plan is mended on the way? Without, it is underrated.
        bound: seconds below which no run can be at expected durations; 0 if none is known.
    """
    alike = are_alike(expected)
    if measures is None:
        measures = NONE if alike else choose_measures(expected, pessimistic, schedule)
    track = _Track(expected, schedule, measures, mends)
    chances = min(chances, _chances(expected, schedule))
    drawn = draws(expected, pessimistic, chances)
    races = (
        track.race([expected.seconds] * chances),
        # All tasks of a kind run long alike: whoever mends the plan sees that after a few of them.
        track.race([pessimistic.seconds] * chances, learned=True),
        track.race((drawn * chances)[:chances]),
    )
    first, long, random = (_corrected(race, races[0], lessons, bound) for race in races)
    races = (first, long, random)
    why_not = ALIKE if alike else _why_not(races, min_gain)
    reason = why_not or _why(random.planned, random.default, long)
    return Verdict(not why_not, reason, *races, NONE if why_not else measures)


def _corrected(race: Race, expected: Race, lessons: Lessons, bound: float) -> Race:
    """The race as it would be run; what holds for expected durations holds for all.

    No correction makes anybody faster than what is proven, unless runs have shown that durations
    are overrated; and a mean over few draws that is below it is there by chance.
    """
    overrated = lessons.overrated(bound)
    planned = lessons.planned(race.planned, overrated, lessons.drift_of(expected.planned))
    # Medians tell how far simulations are off: a single unlucky run says little of that.
    default = lessons.default(race.default, lessons.off(median(expected.chances), bound))
    least = bound * math.exp(-overrated)
    return Race(max(planned, least), max(default, least), race.chances)


def _chances(instance: Instance, schedule: Schedule) -> int:
    """How many runs of Dask's own policy are simulated in each race."""
    n = max(1, instance.graph.n_instances)
    in_time = int(SHARE_OF_RUN * schedule.makespan / (3 * SECONDS_A_TASK * n))
    return max(3 if n <= LARGE else 1, min(SEEDS, in_time, SIMULATED_TASKS // n))


class _Track:
    """Where the schedule and Dask's own policy meet the same durations."""

    def __init__(
        self, instance: Instance, schedule: Schedule, measures: Measures, mends: bool
    ) -> None:
        self._plan = (Mended if mends else Rehearsal)(instance, schedule)
        self._measures = measures
        self._dask = Unplanned(instance)

    def race(self, tables: Sequence[Floats], learned: bool = False) -> Race:
        """Both with each of these (modes, workers) seconds; Dask with another chance each time.

        Args:
            learned: does who mends the plan believe them, and not what the plan was made for?
        """
        different = {id(t): t for t in tables}
        planned = {at: self._planned(t, learned) for at, t in different.items()}
        alone = [self._dask.run(chance, t).makespan for chance, t in enumerate(tables)]
        return Race(fmean(planned[id(t)] for t in tables), fmean(alone), tuple(alone))

    def _planned(self, table: Floats, learned: bool) -> float:
        plan = self._plan
        if learned and isinstance(plan, Mended):
            plan = plan.believing(table)
        return plan.makespan(table, self._measures.holds, self._measures.prefetch)


def _why_not(races: tuple[Race, Race, Race], min_gain: float) -> str:
    """One sentence for people; empty if nothing speaks against the plan."""
    expected, pessimistic, drawn = races
    saved = expected.default - expected.planned
    if 0 <= saved < LEAST_SAVED:
        return f"left to Dask: at most {saved * 1e3:.0f} ms can be saved, less than planning costs"
    cases = (
        ("as expected", expected, min_gain),
        # To ask for as much here refuses plans that are sooner whatever happens (decision 0030).
        ("long", pessimistic, 0.0),
        ("as they did in earlier runs", drawn, min_gain),
    )
    case, race, needed = min(cases, key=lambda each: each[1].gain - each[2])
    if race.gain >= needed:
        return ""
    took = f"{case} the plan takes {race.planned:.3g} s against {race.default:.3g}"
    if needed > 0:
        return f"left to Dask: if tasks run {took} s by Dask's own order; it must save {needed:.0%}"
    return f"left to Dask: if tasks run {took} s by Dask's own order; it must not be slower"


def _why(planned: float, default: float, long: Race) -> str:
    return (
        f"planned: it takes {planned:.3g} s against {default:.3g} s by Dask's own order, and "
        f"{long.planned:.3g} s against {long.default:.3g} s if tasks run long"
    )
