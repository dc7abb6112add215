"""Planning: from a submitted graph to a plan in force, or to the reason why there is none.

The advisor is asked in a thread. The event loop waits for it only a moment, the tasks of the graph
a while longer; a plan that comes later still is carried out for what has not begun by then.
Whatever else there is to think about waits until the run is over: thinking holds up the loop.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from orchestrator_core.execute.advice import Advice, Advisor
from orchestrator_core.execute.dask.config import Options
from orchestrator_core.execute.dask.graphs.runs import GraphRun
from orchestrator_core.execute.dask.graphs.stored import unbound
from orchestrator_core.execute.dask.plans.advisory import Advisory, answered
from orchestrator_core.execute.dask.plans.company import LONGER, beside_others
from orchestrator_core.execute.dask.plans.control import Control
from orchestrator_core.execute.dask.plans.declined import Declined
from orchestrator_core.execute.dask.plans.portions import Handover, Slots
from orchestrator_core.execute.dask.plans.unfollowed import course_of
from orchestrator_core.execute.dask.steer.slots import slots_of, turned
from orchestrator_core.execute.dask.steer.steering import Steering
from orchestrator_core.execute.directives import Key, Slot, keyed
from orchestrator_core.execute.live import Course, LivePlan
from orchestrator_core.execute.turns import Claim, Turn

log = logging.getLogger("orchestrator.dask")

Callback = Callable[[GraphRun, Future[Advice]], None]

BUSY = "the advisor is still busy or warming up"

RESTS = 10.0
"""After thinking about a run that is over, so many times as long nothing of that kind is thought
about: where graphs of a second follow each other, it would hold up the next ones."""

BLINK = 0.005
LONGEST_BLOCK = 0.05
"""Seconds for which the event loop may wait: where tasks can be kept back, where they cannot."""


class Planning:
    """Asks for plans of graphs, and sees to it that they are followed; called on the event loop."""

    def __init__(
        self,
        options: Options,
        advisory: Advisory,
        steering: Steering,
        control: Control,
        fault: Callable[[str, Exception], None],
        divide: Callable[[GraphRun, GraphRun], None],
        put_off: Callable[[GraphRun], None],
    ) -> None:
        """`divide` is told a run and the rest of it that has a plan of its own from now on;
        `put_off`, a run that nobody could be asked about, and is to be asked about again."""
        self._divide, self._put_off = divide, put_off
        self._options, self._advisory = options, advisory
        self._steering, self._control, self._fault = steering, control, fault
        self._declined, self._portions = Declined(), control.portions
        self._loop = asyncio.get_running_loop()
        self._rests_until = -math.inf

    def heed(self, options: Options, advisory: Advisory) -> None:
        """Others are asked from now on, who may find other things worth it."""
        self._options, self._advisory, self._declined = options, advisory, Declined()

    def plan(self, run: GraphRun) -> None:
        """Ask what to do with the graph of this run, if that can make sense."""
        if (senseless := self.is_senseless(run)) is not None:
            self._leave(run, senseless)
        elif not self._control.has_company(run) and (reason := self._declined.get(run)) is not None:
            self._leave(run, reason)
            run.afterwards = partial(advise, run)
            self._look_on(run, self._declined.advice(run))
        else:
            self._ask(run)

    @property
    def can_ask(self) -> bool:
        """Is there somebody to ask, with no other question to answer?"""
        return self._advisory.is_ready

    def is_senseless(self, run: GraphRun) -> str | None:
        """Why nobody need be asked about the run; None if that can make sense."""
        least, most = self._options.min_tasks or 1, self._options.max_tasks or math.inf
        if self._steering.carrier is None:
            return "only observing"
        if run.snapshot.n_plannable < least:
            return f"fewer than {least} tasks may be placed"
        if len(run.snapshot) > most:
            return f"left to Dask: {len(run.snapshot)} tasks; at most {most} are planned"
        return None

    def plan_rest(self, run: GraphRun, rest: GraphRun) -> bool:
        """Ask what to do with what is left of a run that Dask has; False if nobody can be asked
        now. Nothing waits for the answer."""
        slots: dict[Key, Slot] = {}
        answer = self._advisory.ask(self._question(rest, slots))
        if answer is not None:
            adopt = partial(self._adopt_rest, run, slots)
            answer.add_done_callback(partial(self._later, adopt, rest))
        return answer is not None

    def _adopt_rest(
        self, run: GraphRun, slots: Mapping[Key, Slot], rest: GraphRun, answer: Future[Advice]
    ) -> None:
        if run.closed or run.adopted or self._steering.carrier is None:
            return
        try:
            advice = answer.result()
            if advice.put_off:
                self._put_off(run)
                return
            refusal = self._refusal(rest, advice)
            if refusal is None and not self._steering.tasks.not_begun(rest.open & run.open):
                refusal = "the plan came too late"
            if refusal is None:
                self._divide(run, rest)
                self._carry_out(rest, advice, slots)
            elif run.unasked:
                run.unasked = False
                run.decline(refusal)
            else:
                n = len(rest.cluster)
                run.notes.append(
                    f"judged again with {n} workers for {len(rest.open)} tasks: {refusal}"
                )
        except Exception as error:
            self._fault("advice", error)

    def ended(self, run: GraphRun) -> None:
        """The run is over: what takes longer may be thought about now, for the next time."""
        if run.afterwards is None or self._loop.time() < self._rests_until:
            return
        answer = self._advisory.reflect(run.afterwards)
        if answer is not None:
            began = self._loop.time()
            answer.add_done_callback(partial(self._later, partial(self._reconsidered, began), run))

    def _reconsidered(self, began: float, run: GraphRun, answer: Future[Advice]) -> None:
        now = self._loop.time()
        self._rests_until = now + RESTS * (now - began)
        try:
            if self._refusal(run, answer.result()) is None:
                self._declined.forget(run)
        except Exception as error:
            self._fault("refine", error)

    def _ask(self, run: GraphRun) -> None:
        slots: dict[Key, Slot] = {}
        blocking = self._blocking if self.can_ask else 0.0
        answer = self._advisory.ask(self._question(run, slots))
        if answer is None:
            self._ask_later(run)
        elif answered(answer, blocking):
            self._adopt(slots, run, answer)
        else:
            run.decline("the plan was not ready in time")
            self._wait(run)
            answer.add_done_callback(partial(self._later, partial(self._adopt, slots), run))

    def _ask_later(self, run: GraphRun) -> None:
        """Nobody can be asked about it now: until somebody can, Dask has it."""
        run.unasked = True
        self._leave(run, self._advisory.holdup or BUSY)
        self._put_off(run)

    def _wait(self, run: GraphRun) -> None:
        """Its tasks are kept back until the plan is in force, if they can be, for a while."""
        if self._steering.can_wait and self._options.plan_wait:
            plannable = run.snapshot.plannable
            self._steering.awaiting.begin(run, plannable, self._options.plan_wait)

    def _question(self, run: GraphRun, slots: dict[Key, Slot]) -> Callable[[Advisor], Advice]:
        return partial(_think, run, slots, self._control.has_company(run))

    @property
    def _blocking(self) -> float:
        """Seconds for which the event loop waits; tasks can wait longer than that."""
        wait = self._options.plan_wait or 0.0
        return min(wait, BLINK if self._steering.can_wait else LONGEST_BLOCK)

    def _later(self, what: Callback, run: GraphRun, answer: Future[Advice]) -> None:
        try:
            self._loop.call_soon_threadsafe(what, run, answer)
        except RuntimeError:
            log.debug("advice came after the event loop was closed")

    def _adopt(self, slots: Mapping[Key, Slot], run: GraphRun, answer: Future[Advice]) -> None:
        """Follow the advice if it is any good; an advisor that fails is a fault of ours.

        The slots were made where the advice was.
        """
        try:
            if not run.closed and self._steering.carrier is not None:
                self._decide(run, answer.result(), slots)
        except Exception as error:
            self._leave(run, f"the advice cannot be followed: {error}")
            self._fault("advice", error)
        finally:
            # Only now, for what the plan has placed is not to be decided about twice.
            if run not in self._portions.under_way:
                self._steering.awaiting.end(run)

    def _decide(self, run: GraphRun, advice: Advice, slots: Mapping[Key, Slot]) -> None:
        if advice.put_off:
            self._ask_later(run)
            return
        refusal = self._refusal(run, advice)
        if refusal is not None:
            self._leave(run, refusal, advice)
            if advice.plan is not None:
                self._declined.add(run, refusal, advice)
            self._look_on(run, advice)
        else:
            self._follow(run, advice, slots)
        refine = advice.refine
        if refine is not None:
            run.afterwards = lambda _: refine()

    def _refusal(self, run: GraphRun, advice: Advice) -> str | None:
        plan = advice.plan
        if plan is None or not advice.adopted:
            return advice.reason
        default, gain = plan.default_predicted, self._options.min_gain or 0.0
        if self._control.has_company(run):
            gain = -LONGER
        if advice.is_by_time and default is not None and plan.predicted > default * (1.0 - gain):
            return (
                f"{plan.predicted:.3g} s planned against {default:.3g} s by Dask: too small a gain"
            )
        return None

    def _follow(self, run: GraphRun, advice: Advice, slots: Mapping[Key, Slot]) -> None:
        started = self._steering.tasks.started(slots)
        if started:
            run.notes.append(f"the plan came late: {started} tasks had started")
        if started == len(slots):
            self._leave(run, "the plan came too late", advice)
        else:
            self._carry_out(run, advice, slots)

    def _carry_out(self, run: GraphRun, advice: Advice, slots: Mapping[Key, Slot]) -> None:
        run.adopt(advice)
        course, plan = self._course(run, advice), advice.plan
        assert plan is not None
        work = float((plan.schedule.end - plan.schedule.start).sum())
        turn = self._control.turn(run, Claim(course is not None and course.is_dated, work))
        holds = keyed(advice.holds, run.snapshot.key_of)
        if holds or not self._steering.can_wait:
            self._steering.follow(turned(slots, turn), holds)
            slots = {}
        if self._portions.takes_turns(slots):
            self._wait(run)
        self._portions.put(
            Handover(
                run,
                slots,
                force=partial(self._force, run, turn),
                is_on=partial(self._is_on, run),
                then=partial(self._steering.awaiting.end, run),
            )
        )
        if course is not None:
            self._control.begin(run, course, plan.predicted, advice.prefetch, turn)

    def _force(self, run: GraphRun, turn: Turn, slots: Slots) -> None:
        """What has come to an end meanwhile needs no slot."""
        ours = {key: slot for key, slot in slots.items() if key in run.open}
        self._steering.follow(turned(ours, turn))

    def _is_on(self, run: GraphRun) -> bool:
        return not run.closed and self._steering.carrier is not None

    def _course(self, run: GraphRun, advice: Advice) -> Course | None:
        plan = LivePlan.of(advice)
        if plan is None:
            return None
        if not run.snapshot.is_of(plan.instance.graph):
            run.notes.append("the plan is not mended: it was priced for another graph")
            return None
        free = unbound(plan.instance, run.snapshot.there.values())
        return replace(plan, instance=free).course([run.label(key)[0] for key in run.wanted])

    def _leave(self, run: GraphRun, reason: str, advice: Advice | None = None) -> None:
        """Dask places the tasks, where hints say that they may run."""
        run.decline(reason, advice)
        self._steering.heeding.heed(run.snapshot.keys)

    def _look_on(self, run: GraphRun, advice: Advice | None) -> None:
        """Dask runs it; what is left of it can be told all the same."""
        if advice is not None and advice.instance is not None:
            self._control.look_on(run, partial(course_of, run, advice))


def advise(run: GraphRun, advisor: Advisor, has_company: bool = False) -> Advice:
    """What the advisor says of the run's graph, which may have company; takes its time."""
    graph = run.snapshot
    advice = advisor.advise(graph.with_stored, run.cluster, graph.flow, **graph.wishes)
    return beside_others(advice) if has_company else advice


def _think(run: GraphRun, slots: dict[Key, Slot], has_company: bool, advisor: Advisor) -> Advice:
    """As `advise`; what is to be followed is put into `slots`."""
    advice = advise(run, advisor, has_company)
    if advice.plan is not None and advice.adopted:
        slots.update(slots_of(advice.plan.schedule, run.snapshot, run.cluster.index))
    return advice
