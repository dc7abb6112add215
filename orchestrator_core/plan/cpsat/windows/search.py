"""The search of `Windows`: choose a window, solve it, learn, and begin elsewhere when stuck."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.windows.adapt import Adaptive
from orchestrator_core.plan.cpsat.windows.kinds import KINDS, Scene
from orchestrator_core.plan.cpsat.windows.step import Step, open_window, tick_seconds
from orchestrator_core.plan.cpsat.windows.timeline import timeline
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule

WORK_PER_ITERATION = 2e-4
"""Deterministic units of work for each iteration of a budget: a thousand are about a second."""

LEAST_WORK = 0.001
"""Units that a window counts for at least: it has to be modelled too."""

PATIENCE = 10
"""Windows without a better schedule after which some only look for another one, no worse."""

LEVEL = 0.5
"""How often, then."""

RESTART = 40
"""Windows without a better schedule after which it begins again from the best or a seed."""

KICK = 0.01
"""Of the makespan, what the first window after that may lose."""

NEAR = 0.03
"""Of the best makespan, what a seed may be longer."""


class Settings(Protocol):
    """What `Windows` says; see there."""

    @property
    def work(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def kinds(self) -> tuple[str, ...]: ...


class Search:
    """The state between two windows."""

    def __init__(self, settings: Settings, brief: Brief) -> None:
        self.settings, self.brief = settings, brief
        self.began = time.perf_counter()
        self.rng = np.random.default_rng(brief.budget.seed)
        self.adaptive = Adaptive(_useful(settings.kinds, brief.instance))
        self.windows, self.better, self.work = 0, 0, 0.0
        self.stale, self.complete = 0, False
        assert brief.incumbent is not None
        self.best = brief.incumbent
        self._take(brief.incumbent)

    def _take(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.scene = Scene(timeline(self.brief.instance, schedule))
        self.unit = tick_seconds(self.scene.line)

    def done(self) -> bool:
        """Is the budget spent, or nothing better possible?"""
        budget = self.brief.budget
        if self.complete or self.best.makespan <= self.brief.lower_bound * (1 + 1e-9):
            return True
        if budget.iterations is not None:
            return self.work >= budget.iterations * WORK_PER_ITERATION
        return time.perf_counter() - self.began >= budget.seconds

    def step(self) -> Schedule | None:
        """Open one window; a schedule better than all so far if it gave one."""
        shared = self.brief.incumbent
        if shared is not None and shared.makespan < self.best.makespan:
            self.best, self.stale = shared, 0
            self._take(shared)
        kind = self.adaptive.choose(self.rng)
        loose = self._looseness()
        step = self._open(kind, loose)
        self.windows += 1
        work = max(step.work, LEAST_WORK)
        self.work += work
        before, found = self.schedule.makespan, step.schedule
        most = before * (1.0 + (loose or 0.0))
        if found is not None and not (found.makespan <= most and self._valid(found)):
            found = None
        gain = 0.0 if found is None else max(0.0, (before - found.makespan) / before)
        if loose is None:
            self.adaptive.learn(kind, gain, work, self.settings.work, step.ended)
        self.complete = step.complete and found is None and before == self.best.makespan
        return self._accept(found)

    def _looseness(self) -> float | None:
        """None to look for something better; else see `open_window`. After many windows in vain it
        begins again from the best or from a seed, and lets go of a little."""
        self.stale += 1
        if self.stale > RESTART:
            self.stale = 0
            near = [s for s in self.brief.seeds if s.makespan <= self.best.makespan * (1 + NEAR)]
            self._take([self.best, *near][int(self.rng.integers(0, 1 + len(near)))])
            return KICK
        if self.stale > PATIENCE and self.rng.random() < LEVEL:
            return 0.0
        return None

    def _accept(self, found: Schedule | None) -> Schedule | None:
        """Go on from what was found; it is told if it is the best so far."""
        if found is None:
            return None
        if found.makespan < self.schedule.makespan:
            self.stale = 0
        self._take(found)
        if found.makespan >= self.best.makespan:
            return None
        self.best = found
        self.better += 1
        return found

    def _open(self, kind: str, loose: float | None) -> Step:
        size = self.adaptive.size(kind, self.rng)
        task = int(self.rng.choice(self.scene.critical))
        free = KINDS[kind](self.scene, task, size, self.rng)
        return open_window(
            self.scene.line,
            free,
            self.unit,
            self.settings.work,
            self._left(),
            self.windows,
            loose,
        )

    def _left(self) -> float:
        """Wall seconds for the solver; a guard only where iterations count."""
        budget = self.brief.budget
        if budget.iterations is not None:
            return 60.0
        left = budget.seconds - (time.perf_counter() - self.began)
        return min(self.settings.seconds, max(0.01, left))

    def _valid(self, found: Schedule) -> bool:
        try:
            check_schedule(self.brief.instance, found)
        except InvalidSchedule:
            return False
        return True

    def note(self) -> str:
        return f"{self.windows} windows opened, {self.better} of them gave a better schedule"


def _useful(kinds: tuple[str, ...], instance: Instance) -> tuple[str, ...]:
    """Without kinds that would say the same as another."""
    one_kind = len({worker.kind for worker in instance.cluster.workers}) == 1
    useless = set()
    if len(instance.cluster) == 1:
        useless |= {"pair"}
    if one_kind:
        useless |= {"kind"}
    if not any(demand.resources for demand in instance.graph.demands):
        useless |= {"resource"}
    if not any(demand.consumes for demand in instance.graph.demands):
        useless |= {"stock"}
    return tuple(kind for kind in kinds if kind not in useless) or kinds[:1]
