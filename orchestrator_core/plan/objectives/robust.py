"""Plans for durations that are not certain: at a quantile, and by a quantile (stage 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import (
    InfeasibleInstance,
    InvalidInput,
    InvalidSchedule,
    PlanningFailed,
    UnsupportedInstance,
)
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.graph.text import shown
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.given import check_instance, check_is_schedule
from orchestrator_core.plan.schedule import Schedule

SAMPLES = 64
"""Sets of durations by which schedules are judged."""

PLANNED_AT = (0.5, 0.7, 0.9)
"""Quantiles of the durations at which candidates are planned."""


_GIVE = "give a function that makes a Schedule, such as lambda i: plan(i).schedule"


@dataclass(frozen=True, slots=True)
class RobustPlan:
    """The schedule, timed with the instance's own durations, of which a quantile of the makespan is
    the least.

    Attributes:
        planned_at: the quantile of the durations with which it was planned.
        makespan: the `quantile` of its makespan over the samples, in seconds.
    """

    schedule: Schedule
    planned_at: float
    quantile: float
    makespan: float


def at_quantile(
    instance: Instance,
    quantile: float,
    *,
    spread: ArrayLike | None = None,
    samples: Sequence[Sequence[float]] | None = None,
) -> Instance:
    """The instance with a quantile of each task's durations.

    Args:
        quantile: in (0, 1); 0.5 is the median.
        spread: standard deviation of the logarithm of the durations, one number or (n,) for each
            task; the instance's own durations are the medians.
        samples: (n,) for each task, observed durations as multiples of the instance's own; a task
            without any keeps its duration.

    Raises:
        InvalidInput: for a quantile outside of (0, 1), a negative spread, or a wrong number of
            samples; and unless one of the two is given.
    """
    check_instance(instance)
    _check_quantile(quantile)
    if (spread is None) == (samples is None):
        raise InvalidInput("give a spread or samples of the durations, one of the two")
    if samples is not None:
        factor = _of_samples(instance, samples, quantile)
    else:
        factor = np.exp(_spread(instance, spread) * NormalDist().inv_cdf(quantile))
    return _scaled(instance, factor)


def robust_plan(
    instance: Instance,
    plan: Callable[[Instance], Schedule],
    *,
    spread: ArrayLike,
    quantile: float = 0.9,
    planned_at: Sequence[float] = PLANNED_AT,
    samples: int = SAMPLES,
    seed: int = 0,
) -> RobustPlan:
    """Plan at several quantiles of the durations, and keep the schedule whose makespan has the
    least `quantile` over the same drawn durations; the same seed, the same answer.

    In a drawn run each task keeps its worker and its turn there, and starts as soon as it can.

    Args:
        plan: makes a schedule of an instance, such as ``lambda i: plan(i, budget).schedule``.
        spread: as in `at_quantile`. samples: number of drawn runs.

    Raises:
        UnsupportedInstance: if no candidate keeps the constraints with the own durations.
        InvalidInput: as `at_quantile`; if `plan` gives no Schedule; for fewer than one sample.
    """
    check_instance(instance)
    _check_quantile(quantile)
    if not callable(plan):
        raise InvalidInput(f"plan is {shown(plan)}; {_GIVE}")
    if not isinstance(samples, Integral) or samples < 1:
        raise InvalidInput(f"samples is {shown(samples)}; it must be a whole number >= 1")
    if not isinstance(seed, Integral) or seed < 0:
        raise InvalidInput(f"seed is {shown(seed)}; it must be a whole number >= 0")
    is_several = isinstance(planned_at, Iterable) and not isinstance(planned_at, str)
    levels = tuple(planned_at) if is_several else ()
    if not levels:
        raise InvalidInput(f"planned_at is {shown(planned_at)}; give quantiles: (0.5, 0.9)")
    deviation = _spread(instance, spread)
    found = [(level, _planned_at(instance, level, spread, plan)) for level in levels]
    kept = [(level, schedule) for level, schedule in found if schedule is not None]
    if not kept:
        raise UnsupportedInstance(
            f"none of the plans at the quantiles {levels} keeps the constraints with "
            "the instance's own durations; add 0.5 to the quantiles, or relax deadlines"
        )
    runs = _drawn(instance, deviation, samples, seed)
    makespans = makespan_quantiles([schedule for _, schedule in kept], runs, quantile)
    best = int(np.argmin(makespans))
    level, schedule = kept[best]
    return RobustPlan(schedule, level, quantile, float(makespans[best]))


def _planned_at(
    instance: Instance, level: float, spread: ArrayLike, plan: Callable[[Instance], Schedule]
) -> Schedule | None:
    """None if there is no plan at that quantile, or none that can be kept with own durations."""
    try:
        planned = plan(at_quantile(instance, level, spread=spread))
    except (InfeasibleInstance, PlanningFailed):
        return None
    check_is_schedule(planned, "what plan makes")
    return _kept(instance, planned)


def makespan_quantiles(
    schedules: Sequence[Schedule], runs: Iterable[Instance | None], quantile: float
) -> Floats:
    """(schedules,) the quantile of the makespan of each over the runs, in seconds; a run in which
    it cannot be kept counts as endless, and so does None, in which no schedule can be."""
    spans = [
        [np.inf if run is None else _makespan(run, schedule) for schedule in schedules]
        for run in runs
    ]
    return np.asarray(np.quantile(np.array(spans), quantile, axis=0, method="higher"))


def _makespan(run: Instance, schedule: Schedule) -> float:
    try:
        return retime(run, schedule).makespan
    except UnsupportedInstance:
        return float("inf")


def _kept(instance: Instance, schedule: Schedule) -> Schedule | None:
    try:
        own = retime(instance, schedule)
        check_schedule(instance, own)
    except (UnsupportedInstance, InvalidSchedule):
        return None
    return own


def _drawn(
    instance: Instance, spread: Floats, samples: int, seed: int
) -> Iterator[Instance | None]:
    """One after another, since each is as large as the instance; None for a run in which a deadline
    cannot be kept, whatever one does."""
    generator = np.random.default_rng(seed)
    for _ in range(samples):
        noise = generator.standard_normal(len(instance.graph))
        yield _drawn_run(instance, np.exp(spread * noise))


def _drawn_run(instance: Instance, factor: Floats) -> Instance | None:
    try:
        return _scaled(instance, factor)
    except InfeasibleInstance:
        return None


def _scaled(instance: Instance, factor: Floats) -> Instance:
    """The instance with each task's durations times its factor."""
    graph = instance.graph
    per_mode = factor[graph.mode_task][:, None]
    return Instance(graph, instance.cluster, instance.seconds * per_mode)


def _spread(instance: Instance, spread: ArrayLike | None) -> Floats:
    n = len(instance.graph)
    try:
        values = np.asarray(spread, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        values = np.array(np.nan)
    text = isinstance(spread, str)
    wrong = values.shape not in ((), (n,)) or not (np.isfinite(values) & (values >= 0)).all()
    if text or wrong:
        raise InvalidInput(
            f"spread must be a number >= 0, such as 0.3, or ({n},) of them; found {shown(spread)}"
        )
    return np.array(np.broadcast_to(values, (n,)))


def _check_quantile(quantile: object) -> None:
    if not 0 < as_float(quantile) < 1:
        raise InvalidInput(f"the quantile is {shown(quantile)}; it must be in (0, 1)")


def _of_samples(instance: Instance, samples: Sequence[Sequence[float]], quantile: float) -> Floats:
    if len(samples) != len(instance.graph):
        raise InvalidInput(
            f"there are samples of {len(samples)} tasks; the graph has {len(instance.graph)}"
        )
    factors = []
    for name, each in zip(instance.graph.names, samples, strict=True):
        try:
            values = np.atleast_1d(np.asarray(each, dtype=np.float64))
        except (ValueError, TypeError, OverflowError):
            values = np.array([np.nan])
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InvalidInput(
                f"samples of task {name!r} must be numbers >= 0; found {shown(each)}"
            )
        factors.append(np.quantile(values, quantile) if len(values) else 1.0)
    return np.array(factors)
