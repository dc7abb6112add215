"""Course: the plan that a run follows, mended as the run turns out differently."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live.begun import begun
from orchestrator_core.execute.live.crowded import crowded
from orchestrator_core.execute.live.mending import Mended, Mending
from orchestrator_core.execute.live.pace import Observed, Pace
from orchestrator_core.execute.live.repricing import reprice
from orchestrator_core.execute.live.sight import Sight
from orchestrator_core.execute.live.telling import tell
from orchestrator_core.execute.mending_rules import (
    ANY_BYTES,
    THRIFTY_WORTH,
    WORTH,
    WORTH_SECONDS,
)
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.dates import has_deadlines, lateness_first, softened
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.saving import ROUNDING
from orchestrator_core.plan.repair import Event, Replan
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Correction:
    """What a repair found.

    Attributes:
        schedule: the repaired schedule. moves: tasks that it takes elsewhere.
        pays: is it to be followed? reason: one sentence for people.
        end: seconds from the start of the run at which it ends, whether followed or not.
        blocked: tasks that no plan can place as things are; they are left to the host.
        rest: the problem as it is believed to be now.
        remark: what people are to know, whether it is followed or not; said once in a run.
    """

    schedule: Schedule
    moves: int
    pays: bool
    reason: str
    end: float
    blocked: tuple[str, ...]
    rest: Instance
    remark: str = ""


class Course:
    """A schedule in force.

    Attributes:
        instance: as it was believed when the plan was made. schedule: in force now.
        wanted: tasks whose outputs somebody keeps.
        thrifty: was the plan chosen because it holds few bytes?
        objective: what the plan minimises; deadlines come before it, as due dates.
        max_price: what the run may cost; None for any price.
        changeover: seconds that are in each duration of `instance` and in none that is seen.
        crowding: by how much longer bytes are on their way in `instance` than links are seen to be.
    """

    def __init__(
        self,
        instance: Instance,
        schedule: Schedule,
        wanted: Collection[str] = (),
        thrifty: bool = False,
        objective: Objective = MAKESPAN,
        max_price: float | None = None,
        changeover: float = 0.0,
        crowding: float = 1.0,
    ) -> None:
        if has_deadlines(instance.graph):
            objective = lateness_first(objective)
            instance = Instance(softened(instance.graph), instance.cluster, instance.seconds)
        self.instance, self.objective = instance, objective
        self.wanted, self.thrifty, self.max_price = tuple(wanted), thrifty, max_price
        self._changeover, self._crowding = changeover, crowding
        self._too_dear = False
        self.follow(schedule)

    def follow(self, schedule: Schedule) -> None:
        """This schedule is in force from now on."""
        self.schedule = schedule
        order = schedule.start.argsort(kind="stable").tolist()
        tasks = schedule.task.tolist()
        self.rank = {schedule.task_names[tasks[i]]: rank for rank, i in enumerate(order)}

    @property
    def is_dated(self) -> bool:
        """Are there dates to keep?"""
        return "tardiness" in self.objective.criteria

    def correct(self, sight: Sight, budget: Budget | None = None) -> Correction:
        """The plan mended for what is seen; with a budget it is also searched for a better one.

        Raises:
            OrchestratorError: if no repair is possible.
        """
        pace, running = self._pace(sight)
        rest = self._repriced(sight, sight.paused, pace)
        events = tell(sight, running, rest, self.schedule)
        problem = self._problem(sight, pace, rest, events)
        if self.objective != MAKESPAN or self.max_price is not None:
            return self._mended(problem, budget)
        # A search begins what is urgent early, and so all at once.
        found = problem.repaired(None if self.thrifty else budget)
        return self._judged(found, problem)

    def _pays(self, found: Replan, problem: Mending) -> bool:
        """Is it worth the unrest? A plan that jumps about helps nobody."""
        saved, left = found.kept_makespan - found.makespan, found.kept_makespan - problem.now
        if saved <= max(WORTH_SECONDS, (THRIFTY_WORTH if self.thrifty else WORTH) * left):
            return False
        return not self.thrifty or saved > ANY_BYTES * left or not problem.holds_more(found)

    def standing(self, sight: Sight) -> tuple[Instance, tuple[Event, ...]]:
        """The problem as it is believed to be now, and what has happened so far.

        Raises:
            InfeasibleInstance: if a task can run nowhere any more.
        """
        pace, running = self._pace(sight)
        instance = self._repriced(sight, sight.paused, pace)
        return instance, tell(sight, running, instance, self.schedule)

    def _repriced(self, sight: Sight, paused: Set[str], pace: Pace) -> Instance:
        return reprice(self.instance, crowded(sight.cluster, self._crowding), paused, pace)

    def _pace(self, sight: Sight) -> tuple[Pace, dict[str, tuple[str, float]]]:
        """How fast it goes; what runs, with its worker and since when."""
        running = begun(sight, self.rank)
        return Pace.of(self._observed(sight, running)), running

    def _problem(
        self, sight: Sight, pace: Pace, rest: Instance, events: tuple[Event, ...]
    ) -> Mending:
        gone = sight.paused | (set(self.schedule.worker_names) - set(rest.cluster.names))
        whole = rest if gone == sight.paused else self._repriced(sight, gone, pace)
        return Mending(
            rest,
            whole,
            self.schedule,
            sight.now,
            events,
            self.wanted,
            self.objective,
            WORTH,
            self.max_price,
        )

    def _mended(self, problem: Mending, budget: Budget | None) -> Correction:
        """The correction for another objective than the makespan, or within a price."""
        found = problem.mended(budget)
        must, better = bool(found.steady.moved), found.best is not found.steady
        remark = _dear(found.costs[1], self.max_price) if not self._too_dear else ""
        self._too_dear = self._too_dear or bool(remark)
        return Correction(
            schedule=found.best.schedule,
            moves=len(found.best.moved),
            pays=must or better,
            reason=_why(found, self.objective),
            end=found.best.makespan,
            blocked=found.best.blocked,
            rest=problem.rest,
            remark=remark,
        )

    def _judged(self, found: Replan, problem: Mending) -> Correction:
        kept, new = found.kept_makespan, found.makespan
        workers = problem.rest.cluster.index
        must = not math.isfinite(kept) or any(move.source not in workers for move in found.moved)
        pays = must or (bool(found.moved) and self._pays(found, problem))
        return Correction(
            schedule=found.schedule,
            moves=len(found.moved),
            pays=pays,
            reason=_reason(found, must, kept - new),
            end=new if pays else kept,
            blocked=found.blocked,
            rest=problem.rest,
        )

    def _observed(
        self, sight: Sight, running: Mapping[str, tuple[str, float]]
    ) -> Iterator[Observed]:
        for task, done in sight.finished.items():
            yield from self._compared(task, done.worker, done.end - done.start)
        for task, (worker, since) in running.items():
            for observed in self._compared(task, worker, sight.now - since):
                if observed.actual > observed.believed:
                    yield observed

    def _compared(self, task: str, worker: str, seconds: float) -> Iterator[Observed]:
        graph, cluster = self.instance.graph, self.instance.cluster
        if worker not in cluster.index or task not in graph.index:
            return
        place = graph.index[task]
        believed = float(self.instance.seconds[graph.mode_ptr[place], cluster.index[worker]])
        if 0 < believed < math.inf:
            taken = seconds + self._changeover
            yield Observed(graph.kinds[graph.kind_of[place]], worker, believed, taken)


def _why(found: Mended, objective: Objective) -> str:
    moves = _moves(len(found.best.moved))
    if found.best is found.steady:
        return f"{moves}, as it has to be"
    kept, values = found.kept, found.values
    if not values < kept:
        return f"{moves}, so that the run costs {found.costs[1]:.3g}, not {found.costs[0]:.3g}"
    at = next((i for i, (a, b) in enumerate(zip(kept, values, strict=True)) if b < a), 0)
    return f"{moves}, so that the {objective.criteria[at]} is {values[at]:.3g}, not {kept[at]:.3g}"


def _dear(cost: float, limit: float | None) -> str:
    if limit is None or not limit * (1 + ROUNDING) < cost < math.inf:
        return ""
    return (
        f"it costs {cost:.3g} in all, more than the {limit:g} that it may: what is left costs more "
        "than was believed, and no way was found to do it for less"
    )


def _reason(found: Replan, must: bool, saved: float) -> str:
    moves = _moves(len(found.moved))
    return f"{moves}, as it has to be" if must else f"{moves}, which saves {saved:.3g} s"


def _moves(tasks: int) -> str:
    return "1 task goes elsewhere" if tasks == 1 else f"{tasks} tasks go elsewhere"
