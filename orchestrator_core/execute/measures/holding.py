"""Holding: which tasks are kept back so that more urgent ones are not overtaken.

A worker begins whatever is ready. Where a long task thereby overtakes one that was planned before
it and that the end of the run depends on, waiting for a moment is better. Whether it is, simulated
runs with other durations say: those that choose are not those that confirm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate.draws import draws
from orchestrator_core.execute.simulate.inversions import Inversion, inversions
from orchestrator_core.execute.simulate.outcome import Outcome
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.schedule import Schedule

LARGEST = 2_000
"""Tasks of the largest graph in which holds are looked for."""

SHARE = 0.1
"""Part of the tasks that is held at most: holding a task costs the scheduler two more steps."""

DRAWS = 6
"""Simulated runs, with other durations each, by which holds are chosen."""

LEAST_SPREAD = 0.1
"""Standard deviation of the logarithm of durations for which a hold must be good, however sure
they are: what helps only if everything comes as expected helps nobody."""

CONFIRMING = 16
"""Simulated runs that must confirm what was chosen."""

SIMULATIONS = 60
"""Simulated runs that choosing may take at most."""

SHARE_OF_RUN = 0.02
"""Part of the time that the schedule takes which may be spent on choosing and confirming."""

SECONDS_A_TASK = 1e-5
"""About what it takes to simulate one task."""

WORTH_IT = 0.01
"""Part of the mean makespan that all holds together must save."""

STEP = 0.001
"""Part of the mean makespan that each added batch must save."""

REFUSALS = 6
"""Single holds that are tried in vain before the search gives up."""

LEAST_IDLE, LONGEST_IDLE = 0.05, 2.0
"""Seconds for which a worker may have to stand idle for a hold, at least and at most."""


def choose_holds(
    instance: Instance, pessimistic: Instance, schedule: Schedule, *, prefetch: bool = False
) -> dict[str, Hold]:
    """Holds, by task name, with which the schedule is expected to end sooner; mostly none.

    The same arguments have the same answer. It takes about `SHARE_OF_RUN` of the schedule's time;
    where that is too short for a search there are none.

    Args:
        instance: with expected durations. pessimistic: with the 0.9 quantiles.
        schedule: valid for the instance.
        prefetch: will outputs be sent ahead?
    """
    tables = draws(instance, pessimistic, DRAWS, seed=1, least=LEAST_SPREAD)
    simulations = _affordable(instance, schedule)
    if simulations < 2 * len(tables):
        return {}
    search = _Search(Rehearsal(instance, schedule), tables, prefetch)
    search.run(simulations)
    confirming = draws(instance, pessimistic, CONFIRMING)
    return search.holds if search.saves(confirming) else {}


def _affordable(instance: Instance, schedule: Schedule) -> int:
    """Simulations that choosing may take beside those that confirm."""
    n = instance.graph.n_instances
    if not 3 <= n <= LARGEST:
        return 0
    affordable = SHARE_OF_RUN * schedule.makespan / (SECONDS_A_TASK * n)
    return min(SIMULATIONS, int(affordable) - 2 * CONFIRMING)


@dataclass(slots=True)
class _Wish:
    """A hold that may be worth it, over several runs: worst cases, and what it may save in all."""

    wait: float = 0.0
    idle: float = 0.0
    cost: float = 0.0
    fetches: bool = False

    def add(self, found: Inversion) -> None:
        self.wait = max(self.wait, found.wait)
        self.idle = max(self.idle, found.idle)
        self.cost += found.cost
        self.fetches = self.fetches or found.fetches

    @property
    def patience(self) -> float:
        """Seconds from being ready: the wait, a quarter more, and twice the idle time."""
        idle = min(max(2 * self.idle, LEAST_IDLE), LONGEST_IDLE)
        return 1.25 * (self.wait - self.idle) + idle


Pair = tuple[int, int]


class _Search:
    """Adds holds in batches as long as the mean makespan over all draws falls."""

    def __init__(self, rehearsal: Rehearsal, tables: list[Floats], prefetch: bool) -> None:
        self.rehearsal, self.tables, self.prefetch = rehearsal, tables, prefetch
        self.holds: dict[str, Hold] = {}
        self.refused: set[Pair] = set()
        self.most = max(1, int(SHARE * len(rehearsal.units)))

    def run(self, simulations: int) -> None:
        """Spend at most that many simulations."""
        mean, loops = self._simulate(self.holds)
        left, batch = simulations - len(self.tables), self.most
        wishes = self._wishes(loops)
        if sum(wish.cost for _, wish in wishes) < WORTH_IT * mean * len(self.tables):
            return
        while wishes and left >= len(self.tables) and len(self.refused) < REFUSALS:
            tried = wishes[:batch]
            holds = self._with(tried)
            reached, found = self._simulate(holds)
            left -= len(self.tables)
            if reached < mean * (1 - STEP):
                mean, self.holds, batch = reached, holds, 2 * batch
                wishes = self._wishes(found)
            elif len(tried) > 1:
                batch = (len(tried) + 2) // 3
            else:
                self.refused.add(tried[0][0])
                wishes = wishes[1:]

    def saves(self, tables: list[Floats]) -> bool:
        """Do the holds together save enough with these durations too?"""
        if not self.holds:
            return False
        without, held = (
            np.mean([self.rehearsal.makespan(table, holds, self.prefetch) for table in tables])
            for holds in ({}, self.holds)
        )
        return bool(held <= without * (1 - WORTH_IT))

    def _simulate(self, holds: dict[str, Hold]) -> tuple[float, list[Outcome]]:
        loops = [self.rehearsal.run(table, holds, self.prefetch) for table in self.tables]
        return float(np.mean([loop.makespan for loop in loops])), loops

    def _wishes(self, loops: Iterable[Outcome]) -> list[tuple[Pair, _Wish]]:
        """What was overtaken at a cost, the dearest first."""
        wishes: dict[Pair, _Wish] = {}
        for loop in loops:
            for found in inversions(loop, self.rehearsal.priority):
                same = self._name(found.early) == self._name(found.late)
                if found.idle <= LONGEST_IDLE and not same:
                    wishes.setdefault((found.early, found.late), _Wish()).add(found)
        for pair in self.refused:
            wishes.pop(pair, None)
        return sorted(wishes.items(), key=lambda item: (-item[1].cost, item[0]))

    def _with(self, wishes: list[tuple[Pair, _Wish]]) -> dict[str, Hold]:
        """The holds with these added, as far as there is room for them."""
        holds = dict(self.holds)
        for (early, late), wish in wishes:
            held, awaited = self._name(early), self._name(late)
            if held in holds or len(holds) < self.most:
                holds[held] = _extended(holds.get(held, Hold(patience=0.0)), awaited, wish)
        return holds

    def _name(self, unit: int) -> str:
        name: str = self.rehearsal.instance.graph.names[self.rehearsal.units.task[unit]]
        return name


def _extended(hold: Hold, awaited: str, wish: _Wish) -> Hold:
    """The hold, waiting for one more task: until it is sent, or done if that was not enough."""
    patience = max(hold.patience, wish.patience)
    if wish.fetches or awaited in hold.sent | hold.done:
        return Hold(hold.sent - {awaited}, hold.done | {awaited}, patience)
    return Hold(hold.sent | {awaited}, hold.done, patience)
