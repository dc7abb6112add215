"""The rungs of the ladder, as one iterator of proposals (stage 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.alternating import by_turns
from orchestrator_core.plan.bounds.branching import Tree, transfer_around
from orchestrator_core.plan.bounds.certificate import Certificate, Raise, Step
from orchestrator_core.plan.bounds.cone import Cone
from orchestrator_core.plan.bounds.cuts.refuter import MOST_TASKS, Refuter
from orchestrator_core.plan.bounds.leaf import Leaf, settle
from orchestrator_core.plan.bounds.looks import count, pack
from orchestrator_core.plan.bounds.packing import packed
from orchestrator_core.plan.bounds.raising import probed, raised_on
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.rounding import rounded
from orchestrator_core.plan.bounds.state import ROUNDING, State, initial, tightened
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import by_start
from orchestrator_core.plan.planner import Brief, Proposal

MOST_HUBS = 200
"""Joins, and forks, whose cones are looked at before branching; the largest."""

LARGE = 10_000
"""Tasks x workers beyond which only few hubs are looked at, and nothing is probed."""

HUBS_OF_LARGE = 10

CONES = 0.3
"""Part of the budget at which cones end, at the latest."""

PROBING = 0.05
"""Part of the budget."""

MOST_PROBED = 24
"""Tasks whose workers are probed."""

WHOLE_TASKS = "whole tasks on workers (configuration program)"

BRANCHING = "branch and bound on placement"

CUTS = "kept and cut edges (branch and bound)"

COUNTED = "whole tasks in windows (linear program, rounded)"

COUNTS = 10
"""Guesses by which room is measured."""

PACKINGS = 6
"""Limits for which it is tried to show that whole tasks do not fit within them."""

WORTH_SAYING = 2e-4
"""Relative rise of the bound for which branch and bound proposes it anew."""

ROUND_EVERY = 16
"""Nodes of the tree between two schedules that its split suggests."""


class Climb:
    """One instance, from the first rung to the last."""

    def __init__(self, brief: Brief) -> None:
        assert brief.incumbent is not None
        self.brief, self.began, self.steps = brief, time.monotonic(), 0
        self.problem = expand(brief.instance)
        self.relaxation = Relaxation.of(self.problem)
        self.upper = brief.incumbent.makespan
        self.said, self.note = 0.0, ""
        self.root = Leaf(0.0, None)
        self.tree: Tree | None = None
        self.before_tree: State | None = None
        self.large = self.relaxation.seconds.size > LARGE

    def proposals(self) -> Iterator[Proposal]:
        """All of them, cheap ones first; it ends when nothing more can be proven."""
        yield from self._windows()
        yield from self._whole_tasks()
        rungs = [self._placements(), self._cuts()]
        yield from by_turns(rungs, lambda: self.proven, self.spent)

    def _placements(self) -> Iterator[Proposal]:
        """Cones and probes, then branch and bound."""
        yield from self._cones(CONES)
        yield from self._probes(CONES + PROBING)
        yield from self._whole_tasks()
        yield from self._tree()

    def spent(self) -> float:
        """Part of the budget that is used up: of its iterations if it has any, or of its time."""
        budget = self.brief.budget
        if budget.iterations is not None:
            return self.steps / max(1, budget.iterations)
        return (time.monotonic() - self.began) / max(1e-9, budget.seconds)

    def last_word(self) -> Proposal:
        """What was proven in the end."""
        by_cases = self.tree is not None and self.tree.bound > self.root.value
        return self._say(BRANCHING if by_cases else self._method, 0.0)

    @property
    def proven(self) -> float:
        """Seconds that no schedule is shorter than; `upper` if that is optimal."""
        value = max(self.root.value, 0.0 if self.tree is None else self.tree.bound)
        return self.upper if value >= self.upper * (1 - 3 * ROUNDING) else value

    def certificate(self) -> Certificate:
        """Of what is proven now; cases of a tree that proves less than was refuted are left out."""
        refutation = self.root.refutation
        whole = refutation is None or self.proven > refutation.limit
        case = self.root.as_case(whole)
        return Certificate(float(self.proven), float(self.upper), case)

    _method = "paths with transfers"

    def _windows(self) -> Iterator[Proposal]:
        state = tightened(self.relaxation, initial(self.relaxation, self.upper))
        self._now(state)
        yield self._say("paths with transfers")
        if self.root.state is not None:
            settle(self.relaxation, self.root, accuracy=1e-6)
            yield self._say("work in windows (linear program)")
            yield self._suggest(self.root)

    def _whole_tasks(self) -> Iterator[Proposal]:
        for _ in count(self.relaxation, self.root, COUNTS):
            self._close()
            yield self._say(COUNTED)
            self._refresh()
        if self.root.claims is not None and self.root.claims.rounded:
            yield self._suggest(self.root)
        for _ in pack(self.relaxation, self.root, PACKINGS):
            self._close()
            yield self._say(WHOLE_TASKS)
            self._refresh()

    def _cones(self, until: float) -> Iterator[Proposal]:
        for forward in (True, False):
            for task in self._hubs(forward):
                self._refresh()  # which may leave nothing to look at
                if self.root.state is None or self.spent() > until:
                    break
                cone = Cone.of(self.relaxation, task, forward)
                yield from self._cone(cone, self.root.state)
        if self.root.state is not None:
            settle(self.relaxation, self.root, accuracy=1e-6)
        yield self._say("cones of joins and forks")
        yield self._suggest(self.root)

    def _cone(self, cone: Cone, state: State) -> Iterator[Proposal]:
        """Worker by worker; if nothing comes of the first two, nothing is expected of the rest."""
        found: list[Raise] = []
        # Others who have a turn meanwhile build on no more than what has been noted.
        state, claims = state.copy(), None
        for number, worker in enumerate(np.flatnonzero(state.may[cone.task]).tolist()):
            if number > 1 and not found:
                break
            more, claims = raised_on(cone, state, worker, claims, tries=0)
            found += more
            yield Proposal()
        if found:
            self.root.steps.append(Step(raised=tuple(found)))
            state.upper = self.upper
            self._now(tightened(self.relaxation, state) if state.may[cone.task].any() else None)

    def _hubs(self, forward: bool) -> list[int]:
        """Tasks with several inputs, or outputs, in the order of the graph."""
        side = self.relaxation.forward if forward else self.relaxation.backward
        degree = np.diff(side.ptr)
        most = HUBS_OF_LARGE if self.large else MOST_HUBS
        largest = np.argsort(-degree, kind="stable")[:most]
        chosen = np.zeros(len(degree), dtype=np.bool_)
        chosen[largest[degree[largest] > 1]] = True
        return [int(t) for t in side.order if chosen[t]]

    def _probes(self, until: float) -> Iterator[Proposal]:
        important = np.argsort(-transfer_around(self.relaxation), kind="stable")
        for task in important[: 0 if self.large else MOST_PROBED].tolist():
            if self.root.state is None or self.spent() > until:
                break
            if self.root.state.may[task].sum() > 1:
                state, step = probed(self.relaxation, self.root.state, task)
                if step.excluded:
                    self.root.steps.append(step)
                self._now(state)
                yield Proposal()
        if self.root.state is not None:
            settle(self.relaxation, self.root, accuracy=1e-6)
        yield self._say("probing")

    def _tree(self) -> Iterator[Proposal]:
        if self.root.state is None or self.root.value >= self.upper * (1 - ROUNDING):
            return
        self.before_tree = self.root.state
        self.root.looks = 2  # in rungs of their own
        self.tree = Tree(self.relaxation, self.root, self.upper)
        while not (self.tree.ended or self.proven >= self.upper):
            for case in self.tree.grow():
                yield Proposal()
                self._refresh()
                self.tree.upper = self.upper
                if self.tree.nodes % ROUND_EVERY == 0 and case.claims is not None:
                    yield self._suggest(case)
            self.note = f"{self.tree.nodes} nodes"
            if self.proven > self.said * (1 + WORTH_SAYING):
                yield self._say(BRANCHING)

    def _cuts(self) -> Iterator[Proposal]:
        if len(self.problem.task) > MOST_TASKS:
            return
        refuter = Refuter(self.brief.instance, self.problem, self.relaxation)
        while self.proven < self.upper:
            self._refresh()
            state = self._known()
            if state is None or self.proven >= self.upper:
                return
            found = refuter.step(state, self.proven, self.upper)
            if found.refutation is not None:
                self.root.value, self.root.refutation = found.refutation.limit, found.refutation
                self._close()
                yield self._say(CUTS)
            elif found.placed is not None:
                yield self._placed(*found.placed)
            else:
                yield Proposal()

    def _placed(self, worker: Ints, start: Floats) -> Proposal:
        """The schedule of a case in which all is decided."""
        choice = Choice(by_start(self.problem, start), worker=worker)
        schedule = place(self.brief.instance, choice)
        if isinstance(schedule, str) or schedule.makespan >= self.upper:
            return Proposal()
        return Proposal(schedule=schedule)

    def _known(self) -> State | None:
        """What is known of all schedules that are shorter, whatever the tree has decided."""
        return self.before_tree if self.root.state is None else self.root.state

    def _now(self, state: State | None) -> None:
        self.root.state = state
        if state is None:
            self.root.value = self.upper
        else:
            self.root.value = max(self.root.value, state.lower_bound(self.relaxation))

    def _refresh(self) -> None:
        """Use a better incumbent as soon as there is one."""
        incumbent = self.brief.incumbent
        if incumbent is not None and incumbent.makespan < self.upper:
            self.upper = incumbent.makespan
            if self.root.state is not None:
                self.root.state.upper = self.upper
            self._pack_again()
            self._close()

    def _pack_again(self) -> None:
        """What does not fit within a little less may not fit within the new makespan either."""
        state, claims = self._known(), self.root.claims
        of_use = self.root.packing is not None or (claims is not None and claims.rounded)
        if state is None or not of_use:
            return
        packing = packed(self.relaxation, state, self.root.claims, self.upper)
        if packing is not None:
            self.root.value, self.root.packing = self.upper, packing

    def _close(self) -> None:
        """There is nothing left to look at where as much is proven as the makespan is long."""
        if self.root.value >= self.upper * (1 - ROUNDING):
            self.root.state = None

    def _say(self, method: str, by: float = 1e-9) -> Proposal:
        """The bound, if it is news."""
        bound = self.proven
        if bound <= self.said * (1 + by) and not self.said < bound == self.upper:
            return Proposal(note=self.note)
        if bound > self.said:
            self._method = self._shown_by(bound) or method
        self.said = bound
        return Proposal(
            lower_bound=bound, note=self.note, method=self._method, certificate=self.certificate()
        )

    def _shown_by(self, bound: float) -> str:
        """What has refuted a limit as high, if anything has."""
        packing, refutation = self.root.packing, self.root.refutation
        nearly = bound * (1 - 3 * ROUNDING)
        if packing is not None and nearly <= packing.limit:
            return WHOLE_TASKS
        return CUTS if refutation is not None and nearly <= refutation.limit else ""

    def _suggest(self, leaf: Leaf) -> Proposal:
        """A schedule that follows the leaf's split."""
        if leaf.claims is None or leaf.state is None:
            return Proposal()
        schedule = rounded(self.brief.instance, self.relaxation, leaf.state, leaf.claims.split)
        if schedule is None:
            return Proposal()
        incumbent = self.brief.incumbent
        if incumbent is None or schedule.makespan < incumbent.makespan:
            return Proposal(schedule=schedule)
        return Proposal(seed=schedule)
