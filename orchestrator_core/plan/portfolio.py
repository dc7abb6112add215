"""plan: an instance and a budget in, the best schedule with its proof out (stage 3).

List planners give the incumbent, the cheapest first. Then a local search betters it in the caller's
thread while, in a helper's process beside it, solvers raise the bound and improve windows of the
schedule, or solve the instance as a whole where it is small. Every schedule passes
`check_schedule` before it counts; a planner that raises, hangs or is wrong is named in the attempts
and passed by.
"""

from __future__ import annotations

import contextlib
import difflib
import time
from collections.abc import Collection, Sequence, Set
from functools import cached_property

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput, UnsupportedInstance
from orchestrator_core.graph.text import shown
from orchestrator_core.plan import warm
from orchestrator_core.plan.board import Board
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.crew import pool
from orchestrator_core.plan.engine.compiled import not_compiling
from orchestrator_core.plan.first_bound import dated_bound, first_bound
from orchestrator_core.plan.given import check_budget, check_instance, check_is_schedule
from orchestrator_core.plan.guard import guarded
from orchestrator_core.plan.held import Held
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.effort import Effort
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS, ListPlanner
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.constant import varying, with_constant
from orchestrator_core.plan.objectives.first_schedule import FirstSchedule
from orchestrator_core.plan.objectives.planners import OBJECTIVE_PLANNERS
from orchestrator_core.plan.objectives.search import ObjectiveSearch
from orchestrator_core.plan.objectives.time_search import TimeSearch
from orchestrator_core.plan.phases import fit, phases, search_share
from orchestrator_core.plan.planner import Planner, Proposal
from orchestrator_core.plan.reduce.coarse_search import CoarseSearch
from orchestrator_core.plan.result import HINT, PlanResult
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.beam_search import BeamSearch
from orchestrator_core.plan.search.general_search import GeneralSearch
from orchestrator_core.plan.search.local_search import LocalSearch
from orchestrator_core.plan.together import Aside, one_by_one, search

FREE, POLISH = 0.005, 0.002
"""Seconds that planning takes in any case: for list planners that are through in less, and of these
the last for a search, if it can begin in so few."""

TO_START = 0.5
"""With fewer seconds left, no helper is started; one that is kept from an earlier plan is asked."""

TO_ASK = 0.02
"""With fewer seconds left, no helper is asked at all."""

FIRST = 0.5
"""Part of the time in which some schedule is looked for, where the lists have found none and who
searches by the objective needs one."""

GRACE = 2.0
"""Seconds beyond its budget after which a planner counts as hanging."""


def plan(
    instance: Instance,
    budget: Budget | None = None,
    planners: Sequence[str] | None = None,
    *,
    hint: Schedule | None = None,
    objective: Objective | str = MAKESPAN,
    _registry: Sequence[Planner] | None = None,
) -> PlanResult:
    """The best schedule that the planners find within the budget, and how good it is at least.

    The cheapest planners always run, whatever the budget; with what is checked that takes about a
    second for each million of task instances. With `budget.iterations`, the same instance, seed and
    iterations give the same schedule. The first plan of a process loads compiled code before its
    budget begins, about two seconds; see `warm` for machines that lack it.

    Args:
        planners: names of those to ask; None for all.
        hint: a schedule of this instance, such as a stored one, to begin with if it is valid.
        objective: what is minimised, such as ``"tardiness,makespan"``; see `Objective`.

    Raises:
        InvalidInput: if a name is none of a planner's or a criterion's; the message lists them.
            Also for what is no instance, no budget or no schedule.
        UnsupportedInstance: if no planner can take the instance; it names their reasons.
        PlanningFailed: if no planner found a schedule; it says what each of them met.
    """
    check_instance(instance)
    check_budget(budget)
    if hint is not None:
        check_is_schedule(hint, "the hint")
    chosen = choose(registered() if _registry is None else _registry, planners)
    budget, criteria = budget or Budget(), Objective.of(objective)
    if len(instance.graph) == 0:
        return _nothing(instance, criteria)
    if planners is None and (fewer := varying(instance, criteria)) != criteria:
        found = plan(instance, budget, hint=hint, objective=fewer, _registry=_registry)
        return with_constant(found, criteria)
    waits = planners is not None or budget.iterations is not None
    cold = frozenset[str]() if waits else warm.load()
    board = Board(instance, budget, criteria)  # its clock is that of planning
    with not_compiling() if cold else contextlib.nullcontext():
        return _Planning(board, hint, cold).ask(chosen)


def registered() -> tuple[Planner, ...]:
    """All planners, in the order in which they are asked."""
    from orchestrator_core.plan.bounds.ladder import Ladder
    from orchestrator_core.plan.cpsat.objective_planner import ObjectiveCpSat
    from orchestrator_core.plan.cpsat.planner import CpSatPlanner
    from orchestrator_core.plan.cpsat.sub_dags import SubDagPlanner
    from orchestrator_core.plan.cpsat.windows.planner import Windows

    alone = (CoarseSearch(), LocalSearch(), BeamSearch(), GeneralSearch())
    searches = (*alone, TimeSearch(), ObjectiveSearch())
    solvers = (Ladder(), CpSatPlanner(), Windows(), SubDagPlanner(), ObjectiveCpSat())
    return (*LIST_PLANNERS, *OBJECTIVE_PLANNERS, *searches, *solvers)


def choose(known: Sequence[Planner], names: Sequence[str] | None) -> list[Planner]:
    """Those of these names; all without any.

    Raises:
        InvalidInput: for a name that there is not; it tells those that there are.
    """
    if names is None:
        return list(known)
    by_name = {planner.name: planner for planner in known}
    if isinstance(names, str) or not isinstance(names, Collection):
        raise InvalidInput(f"planners is {shown(names)}; name some of {sorted(by_name)}")
    if not names:
        raise InvalidInput(f"planners is empty; name some of {sorted(by_name)}, or leave it out")
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(str(name), by_name, n=1)
            meant = f" did you mean {near[0]!r}?" if near else ""
            raise InvalidInput(f"there is no planner {name!r};{meant} there are {sorted(by_name)}")
    return [by_name[name] for name in names]


def _nothing(instance: Instance, objective: Objective) -> PlanResult:
    """The empty schedule of a graph without tasks."""
    empty = Schedule.from_columns((), instance.cluster.names, task=())
    values = (0.0,) * len(objective.criteria)
    why = "There is nothing to schedule."
    return PlanResult(
        empty, 0.0, "no tasks", "none", why, 0.0, objective=str(objective), values=values
    )


class _Planning:
    """One plan in the making: lane after lane, until the board is good enough."""

    def __init__(self, board: Board, hint: Schedule | None, cold: Set[str]) -> None:
        self.cold = cold
        self.board, self.began = board, time.monotonic()
        self.until = self.began + board.budget.seconds
        self.by_steps = board.budget.iterations is not None
        self.polisher: LocalSearch | None = None
        self.held = Held(board)
        if hint is not None:
            board.consider(HINT, Proposal(hint), 0.0)

    def ask(self, planners: Sequence[Planner]) -> PlanResult:
        lists = [planner for planner in planners if planner.lane is Lane.LIST]
        self.polisher = next((each for each in planners if isinstance(each, LocalSearch)), None)
        for planner in lists:
            self._list(planner)
        self.held.release()
        self._polish()
        if lists:
            self._bound()
        for planner in planners:
            if planner.lane is Lane.APART and not self.board.good_enough:
                self._apart(planner)
        if self.board.incumbent is None or self.by_steps or self._left() > 0:
            self._search(planners)
        elif not self.board.good_enough:
            for planner in planners:
                if planner.name not in self.board.attempts:
                    self._not_tried(planner)
        return self.board.result(time.monotonic() - self.began)

    def _search(self, planners: Sequence[Planner]) -> None:
        searches = self._able(planners, Lane.SEARCH)
        helpers = self._able(planners, Lane.HELPER)
        first = self._first(planners)
        if self.by_steps:
            self._by_steps([*first, *searches], helpers)
        else:
            self._by_clock(first, searches, helpers)

    def _first(self, planners: Sequence[Planner]) -> list[Planner]:
        """Who looks for some schedule, if there is none yet."""
        if self.board.incumbent is not None or self.board.infeasible:
            return []
        able = [FirstSchedule(p) for p in planners if isinstance(p, GeneralSearch)]
        instance, objective = self.board.instance, self.board.objective
        return [p for p in able if not p.unsupported(instance, objective) and self._has_code(p)]

    def _able(self, planners: Sequence[Planner], lane: Lane) -> list[Planner]:
        """Those of the lane that can take the instance, if there is anything left to gain."""
        if self.board.good_enough:
            return []
        able = [p for p in planners if p.lane is lane and self._can_take_it(p)]
        return fit(self.board.instance, able)

    def _can_take_it(self, planner: Planner) -> bool:
        why = planner.unsupported(self.board.instance, self.board.objective)
        if why is not None:
            self.board.refuse(planner.name, why)
        elif not self._has_code(planner):
            self.board.note(planner.name, warm.NOT_YET)
            return False
        return why is None

    def _has_code(self, planner: Planner) -> bool:
        """Is it compiled? A list planner can do without, until there is a schedule."""
        first = planner.lane is Lane.LIST and self.board.incumbent is None
        return first or warm.part_of(planner) not in self.cold

    def _list(self, planner: Planner) -> None:
        """If there is something to gain and time for it; until there is a schedule, in any case."""
        board = self.board
        if board.good_enough or not self._can_take_it(planner):
            return
        if not self._affords(planner):
            self._not_tried(planner)
            return
        if board.incumbent is None or self.by_steps or self._left() > 0:
            search(board, [planner], self.until, None)
        else:
            self.held.ask(planner)
        if self.by_steps or self._left() > 0:
            self._bound()

    def _bound(self) -> None:
        """The first bound: after the first list planner, so that what is optimal is known to be so,
        but after all of them where there is no time but theirs."""
        board = self.board
        if board.bound.method:
            return
        left = None if self.by_steps else self._left()
        if "bounds" in self.cold:
            left = 0.0
        if board.incumbent is None:
            board.prove(dated_bound(board.instance, left))
        if not board.infeasible:
            board.prove(first_bound(board.instance, board.objective, left))

    def _affords(self, planner: Planner) -> bool:
        if self.board.incumbent is None or self.by_steps:
            return True
        spent = time.monotonic() - self.began
        if self._left() <= 0 and spent >= FREE:
            return False
        left = max(self._left(), FREE - (POLISH if self._polishes else 0.0) - spent)
        takes = planner.seconds(self._effort) if isinstance(planner, ListPlanner) else 0.0
        return takes <= left

    @cached_property
    def _effort(self) -> Effort:
        first = max((a.seconds for a in self.board.attempts.values()), default=0.0)
        return Effort.of(self.board.instance, first)

    @cached_property
    def _polishes(self) -> bool:
        """Can a search begin in the last part of the free time, where the budget is shorter?"""
        planner = self.polisher
        if planner is None or self.by_steps or self.until >= self.began + FREE:
            return False
        return planner.seconds(self._effort) <= POLISH and self._can_take_it(planner)

    def _polish(self) -> None:
        """Search in what the lists left of the free time."""
        board, free, planner = self.board, self.began + FREE, self.polisher
        if board.incumbent is None or board.good_enough or not self._polishes or planner is None:
            return
        if planner.seconds(self._effort) <= free - time.monotonic():
            search(board, [planner], free, None)

    def _apart(self, planner: Planner) -> None:
        """To its end, or until it counts as hanging."""
        board, began = self.board, time.monotonic()
        if not self._can_take_it(planner):
            return
        if self._left() <= 0 and not self.by_steps:
            self._not_tried(planner)
            return
        brief = board.brief(self._left())
        try:
            for proposal in guarded(lambda: list(planner.plan(brief)), self._left() + GRACE):
                board.consider(planner.name, proposal, time.monotonic() - began)
        except UnsupportedInstance as error:
            board.refuse(planner.name, str(error))
        except TimeoutError:
            board.note(planner.name, "hung, and was left behind", time.monotonic() - began)
        except Exception as error:  # a broken planner must not cost the plan
            text = f"failed: {type(error).__name__}: {error}"
            board.note(planner.name, text, time.monotonic() - began)

    def _by_steps(self, searches: Sequence[Planner], helpers: Sequence[Planner]) -> None:
        for planner in searches:
            search(self.board, [planner], self.until, None)
        one_by_one(self.board, helpers)

    def _by_clock(
        self, first: Sequence[Planner], searches: Sequence[Planner], helpers: Sequence[Planner]
    ) -> None:
        if self._left() <= 0:
            for planner in (*searches, *helpers):
                self._not_tried(planner)
            return
        aside = self._aside(helpers)
        share = search_share(self.board.instance, helpers) if aside is not None else 1.0
        try:
            search(self.board, first, self.until - (1 - FIRST) * self._left(), aside)
            search(self.board, searches, self.until - (1 - share) * self._left(), aside)
            if aside is not None:
                aside.wait(self.until)
        finally:
            if aside is not None:
                aside.close()

    def _aside(self, helpers: Sequence[Planner]) -> Aside | None:
        """The helper at work, if there is time for one."""
        if helpers and self._left() >= (TO_ASK if pool.ready() else TO_START):
            return Aside(self.board, phases(self.board.instance, helpers), self.until)
        for planner in helpers:
            self._not_tried(planner)
        return None

    def _not_tried(self, planner: Planner) -> None:
        self.board.note(planner.name, f"was not tried: {max(self._left(), 0.0):.2g} s were left")

    def _left(self) -> float:
        return self.until - time.monotonic()
