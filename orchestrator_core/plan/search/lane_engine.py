"""LaneEngine: the annealing on lanes for one instance and objective, seen from Python (stage 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import to_schedule, with_plain_transfers
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.goal import Goal, goal_of, placement_value
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import by_start
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.arc_anneal import anneal_arcs, load
from orchestrator_core.plan.search.arc_state import Arcs, new_arcs, room_for
from orchestrator_core.plan.search.lane_anneal import anneal, begin, latest_starts, tails
from orchestrator_core.plan.search.lane_walk import Walk, new_walk

NEAR_TAILS = 20_000_000
"""Up to this edges x workers^2, tails reckon with each pair of workers."""

LATE = 10.0
"""What a second after a hard deadline counts, in the largest price of a second elsewhere."""


@dataclass(frozen=True, slots=True)
class Solution:
    """(n,) order of the tasks, worker and mode of each or -1; and how the decoder looks ahead."""

    order: Ints
    place: Ints
    mode: Ints
    look: float = 0.0


class LaneEngine:
    """The current solution, the best one, and moves between them.

    Attributes:
        steps: moves made so far.
        takes_arcs: can it go on as a disjunctive graph? Where nothing but the makespan counts.
    """

    def __init__(self, instance: Instance, objective: Objective, seed: int) -> None:
        self.instance, self.problem = instance, expand(instance)
        self.goal = goal_of(instance, objective)
        self.steps, self._seed, self._rounds = 0, seed, 0
        self._walk = _walk(self.problem, self.goal)
        self._arcs: Arcs | None = None
        self._on_arcs = False
        dated = bool(np.isfinite(self.problem.deadline).any() or self.goal.weights[1] > 0)
        self.takes_arcs = not dated and room_for(self.problem)

    @property
    def n_tasks(self) -> int:
        return self.problem.n_tasks

    @property
    def best(self) -> float:
        """The best value so far, penalties for missed deadlines included."""
        return float(self._walk.value[1])

    @property
    def current(self) -> float:
        """The value of the current solution, penalties included."""
        if self._on_arcs and self._arcs is not None:
            return float(self._arcs.value[0])
        return float(self._walk.value[0])

    @property
    def value(self) -> float:
        """The best value so far; infinity while that misses a deadline."""
        end = self._walk.best_end
        late = (end > self._walk.due[:, 1]).any() or not np.isfinite(self.best)
        return float("inf") if late else self.best

    def value_of(self, schedule: Schedule) -> float:
        """The objective's value of a schedule."""
        row, worker, mode = placement(self.instance, self.problem, schedule)
        start, end = schedule.start[row], schedule.end[row]
        return float(placement_value(self.goal, self.problem, start, end, worker, mode))

    def solution_of(self, schedule: Schedule) -> Solution:
        """Every task where the schedule has it, by start."""
        row, worker, mode = placement(self.instance, self.problem, schedule)
        return Solution(self._by_start(schedule.start[row]), worker, mode)

    def best_solution(self) -> Solution:
        """Every task where the best schedule has it, by start: it decodes to nothing worse."""
        walk = self._walk
        return Solution(
            self._by_start(walk.best_start), walk.best_worker.copy(), walk.best_mode.copy()
        )

    def begin(self, solution: Solution) -> float:
        """Go on from this solution; its value. Tasks without a place are pinned where they come."""
        walk, look, self._on_arcs = self._walk, solution.look, False
        value = begin(self.problem, walk, solution.order, solution.place, solution.mode, look)
        if (solution.place < 0).any():
            now = walk.now
            order = self._by_start(now.start)
            value = begin(self.problem, walk, order, now.worker.copy(), now.mode.copy(), 0.0)
        return float(value)

    def justify(self) -> bool:
        """Begin anew in the order of the latest starts: forward-backward improvement; never worse.
        Is it better now?

        K. Y. Li, R. J. Willis: An iterative scheduling technique for resource-constrained project
        scheduling. EJOR 56, 1992.
        """
        before, walk = self.current, self._walk
        self._leave_arcs()
        order = self._by_start(latest_starts(self.problem, walk))
        kept = self._now()
        if self.begin(Solution(order, kept.place, kept.mode)) > before:
            self.begin(kept)
        return self.current < before

    def loosen(self) -> None:
        """The same, but tasks may leave their workers."""
        before, walk = self.current, self._walk
        self._leave_arcs()
        order, kept = self._by_start(latest_starts(self.problem, walk)), self._now()
        free = np.full(self.n_tasks, -1, dtype=np.int64)
        if self.begin(Solution(order, free, free)) > before:
            self.begin(kept)

    def go(self, steps: int, work: int, heat: float, target: float, arcs: bool) -> None:
        """Up to `steps` moves, or about `work` tasks placed, at a heat relative to the best value.

        Args:
            arcs: on the disjunctive graph, rather than on orders that are decoded.
        """
        self._rounds += 1
        seed = (self._seed * 1_000_003 + self._rounds) % (1 << 32)
        heat = max(heat, 1e-9) * (abs(self.best) or float(self.goal.scale[0]))
        if not arcs:
            self._leave_arcs()
            self.steps += anneal(self.problem, self._walk, seed, steps, work, heat, target)
            return
        state = self._enter_arcs()
        self.steps += anneal_arcs(self.problem, state, seed, steps, work, heat, target)
        walk = self._walk
        if state.value[1] < walk.value[1]:
            walk.value[1] = state.value[1]
            walk.best_start[:], walk.best_end[:] = state.best_start, state.best_end
            walk.best_worker[:] = state.best_worker
            walk.best_mode[:] = self._modes(state.best_worker)

    def _enter_arcs(self) -> Arcs:
        if self._arcs is None:
            self._arcs = new_arcs(self.problem, best_seconds(self.problem))
        if not self._on_arcs:
            now, lane = self._walk.now, np.empty(self.n_tasks, dtype=np.int64)
            lane[self._walk.now_order] = now.log[:, 0]
            load(self.problem, self._arcs, self._by_start(now.start), now.worker, lane)
            self._on_arcs = True
        return self._arcs

    def _leave_arcs(self) -> None:
        """Go on from the decoded current solution; it is not later than it was as a graph."""
        if self._on_arcs and self._arcs is not None:
            worker = self._arcs.worker.copy()
            self.begin(Solution(self._by_start(self._arcs.start), worker, self._modes(worker)))

    def _now(self) -> Solution:
        now = self._walk.now
        return Solution(self._by_start(now.start), now.worker.copy(), now.mode.copy())

    def _modes(self, worker: Ints) -> Ints:
        """(n,) the fastest mode of each task on its worker."""
        p = self.problem
        mode = p.mode_begin.copy()
        several = np.flatnonzero(p.mode_end - p.mode_begin > 1)
        for t in several:
            seconds = p.seconds[p.mode_begin[t] : p.mode_end[t], worker[t]]
            mode[t] += int(np.argmin(seconds))
        return mode

    def schedule(self) -> Schedule:
        """The schedule of `value`."""
        walk = self._walk
        columns = (walk.best_start, walk.best_end, walk.best_worker, walk.best_mode)
        return to_schedule(self.instance, with_plain_transfers(self.problem, *columns))

    def _by_start(self, start: Floats) -> Ints:
        return by_start(self.problem, start)


def _walk(problem: Problem, goal: Goal) -> Walk:
    near = len(problem.in_task) * problem.n_workers**2 <= NEAR_TAILS
    tail = tails(problem, best_seconds(problem), near)
    weights = goal.weights
    soft = weights[1] * goal.late_price
    most = max(float(weights[0]), float(soft.max(initial=0.0)), 1e-300)
    hard = np.where(np.isfinite(problem.deadline), LATE * most, 0.0)
    # A charge for each missed deadline, beside that for its lateness, lets none pass as the best.
    whole = float(best_seconds(problem).min(axis=1).sum()) + float(problem.release.max(initial=0.0))
    due = np.column_stack([goal.due, problem.deadline * (1 + 1e-12)])
    rate = np.column_stack([soft, hard, hard * whole])
    return new_walk(problem, tail, due, rate, float(weights[0]))
