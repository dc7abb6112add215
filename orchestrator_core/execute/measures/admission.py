"""Admission: a plan and holds with which a run holds fewer bytes, where that costs hardly any time.

The fastest plan may hold far more than Dask would by itself: it scatters what belongs together,
and produces as early as it can. So other places and orders are compared with it, and tasks that are
kept back until they are needed; all in simulated runs, as Dask would carry them out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.trials import Trial, trials
from orchestrator_core.execute.simulate import simulate_default
from orchestrator_core.execute.simulate.footprint import footprint
from orchestrator_core.execute.simulate.rehearsal import LAG
from orchestrator_core.plan.schedule import Schedule

LARGEST = 2_000
"""Tasks of the largest graph that is looked at: that takes about half a millisecond for each."""

LEAST_PEAK = 64e6
"""Bytes; a plan that holds less, all workers together, is left as it is if there is room for it."""

LEAST_SAVING = 0.2
"""Part of the peak that must be saved."""

FREE_COST, NEEDED_COST = 0.01, 0.05
"""Part of the makespan that it may cost: always, and where memory is short."""

MORE, EACH_GAIN, ENOUGH_GAIN = 0.25, 10.0, 0.33
"""Memory is short, too, where a plan holds this part more than plain Dask would, or more than so
many times the part of Dask's time that it saves. What saves the last part may hold any number."""

AS_LONG = 0.03
"""Else less may be held in Dask's own time, and this part of it more: simulated runs of Dask know
no delays."""

NEARLY = 0.05
"""Part of the peak for which nobody waits longer."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What to follow, and what it takes in a simulated run.

    Attributes:
        schedule: the one that was given, if nothing better was found.
        holds: by task name: what is to be kept back.
        makespan: seconds.
        peak: the most bytes of outputs that all workers hold at one moment. fits: is there room?
        planned_peak, plain_peak: the same for the schedule that was given, and for plain Dask;
            `plain_peak` is NaN if nothing was compared.
    """

    schedule: Schedule
    holds: Mapping[str, Hold]
    makespan: float
    peak: float
    fits: bool
    planned_peak: float
    plain_peak: float


def admission(
    instance: Instance,
    schedule: Schedule,
    *,
    lag: float = LAG,
    least_peak: float = LEAST_PEAK,
    most: int | None = None,
) -> Admission:
    """The schedule, or another one with holds that saves memory and hardly costs time.

    A saving of `LEAST_SAVING` may cost `FREE_COST` of the makespan; `NEEDED_COST` if the schedule
    does not fit on some worker or holds more than is `allowed` for its gain in time. If all that is
    nearly as quick does so, too, the gain may be lost. The same arguments have the same answer.

    Args:
        schedule: valid for the instance but for memory.
        lag: seconds until a worker hears of what it made ready.
        least_peak: bytes; a schedule that holds less is left as it is if it fits.
        most: other schedules that are looked at; None for all that are known to be good for it.

    Raises:
        InvalidSchedule: if it is not a schedule of this instance.
    """
    planned = Trial(schedule, {}, schedule.makespan, footprint(instance, schedule))
    small = planned.taken.fits and planned.taken.peak < least_peak
    many = instance.graph.n_instances > LARGEST
    # A hold of one instance would wait for all instances of others.
    if small or many or bool((instance.graph.count > 1).any()):
        return _answer(planned, planned, float("nan"))
    plain = simulate_default(instance)
    plain_peak = footprint(instance, plain).peak
    given, *others = trials(instance, schedule, lag, most)
    gain = 1.0 - given.makespan / plain.makespan if plain.makespan > 0 else 0.0
    quick = _quick(given, others, plain.makespan, allowed(gain) * plain_peak)
    return _answer(_best(given, quick), given, plain_peak)


def allowed(gain: float) -> float:
    """How many times the bytes of plain Dask a plan may hold that saves this part of its time."""
    return math.inf if gain >= ENOUGH_GAIN else 1.0 + max(MORE, EACH_GAIN * gain)


def _quick(given: Trial, others: list[Trial], plain: float, much: float) -> list[Trial]:
    """Those that are quick enough.

    Args:
        plain: seconds of Dask alone. much: bytes.
    """
    hungry = given.taken.peak > much
    cost = NEEDED_COST if hungry or not given.taken.fits else FREE_COST
    longest = given.makespan * (1 + cost)
    quick = [given, *(each for each in others if each.makespan <= longest)]
    if min(each.taken.peak for each in quick) <= much:
        return quick
    return [given, *(each for each in others if each.makespan <= plain * (1 + AS_LONG))]


def _best(given: Trial, quick: list[Trial]) -> Trial:
    """Of those that are quick the thriftiest, if it saves enough or alone has room."""
    fits = [each for each in quick if each.taken.fits] or quick
    least = min(each.taken.peak for each in fits)
    nearly = [each for each in fits if each.taken.peak <= least * (1 + NEARLY)]
    best = min(nearly, key=lambda each: (each.makespan, len(each.holds)))
    if best.taken.fits and not given.taken.fits:
        return best
    return best if best.taken.peak <= given.taken.peak * (1 - LEAST_SAVING) else given


def _answer(best: Trial, given: Trial, plain_peak: float) -> Admission:
    return Admission(
        schedule=best.schedule,
        holds=best.holds,
        makespan=best.makespan,
        peak=best.taken.peak,
        fits=best.taken.fits,
        planned_peak=given.taken.peak,
        plain_peak=plain_peak,
    )
