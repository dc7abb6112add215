"""Checking a certificate: the bound that it proves, derived anew (stage 3).

It needs no solver and nothing compiled: every argument is followed by adding up. What it trusts is
the instance, and that no worker does two things at once.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidCertificate
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.certificate import (
    Case,
    Certificate,
    Packing,
    Raise,
    Refutation,
    Step,
    Sum,
    Window,
)
from orchestrator_core.plan.bounds.cone import Cone
from orchestrator_core.plan.bounds.cuts.alone import never_at_once
from orchestrator_core.plan.bounds.recut import Recut
from orchestrator_core.plan.bounds.rederive import derive
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.repack import held_by_each
from orchestrator_core.plan.bounds.state import ROUNDING, State, initial
from orchestrator_core.plan.bounds.whole import counted
from orchestrator_core.plan.engine.expand import expand

TOLERANCE = 1e-8
"""Relative: by so much less may be proven than the certificate says. Sums of floats differ by a few
1e-9, as does what holds just below `upper`; less than that is no proof."""

MOST_WORTH = 1_000_000
"""What the prices of a packing may add up to: so many numbers are held while it is followed."""

MOST_TASKS = 2_000
"""Single tasks in an instance of which a refutation is followed: it takes tables of all pairs of
them, and planners refute for half as many at most."""


def verify(instance: Instance, certificate: Certificate) -> float:
    """Seconds that no schedule of the instance is shorter than, by this certificate.

    Raises:
        InvalidCertificate: if it proves less than it says, or refers to what is not there.
    """
    upper = np.inf if certificate.upper is None else certificate.upper
    if not (upper >= 0 and certificate.bound >= 0):
        raise InvalidCertificate(
            f"the bound is {certificate.bound!r} s for schedules shorter than {upper!r} s; "
            "expected both to be >= 0"
        )
    relaxation = Relaxation.of(expand(instance))
    check = _Check(instance, relaxation)
    try:
        proven = check.case(certificate.case, initial(relaxation, upper), 0.0)
    except RecursionError:
        raise InvalidCertificate("its cases are nested too deeply to follow") from None
    proven = float(min(proven, upper * (1 - ROUNDING)))
    if proven < certificate.bound * (1 - TOLERANCE):
        raise InvalidCertificate(
            f"it says that no schedule is shorter than {certificate.bound:.9g} s, "
            f"but proves only {proven:.9g} s"
        )
    return proven


class _Check:
    """The arguments about one instance."""

    def __init__(self, instance: Instance, relaxation: Relaxation) -> None:
        self.instance, self.relaxation = instance, relaxation
        self.n, self.w = relaxation.seconds.shape
        self.cones: dict[tuple[int, bool], Cone] = {}

    def case(self, case: Case, state: State, known: float) -> float:
        """Seconds that no schedule of the case is shorter than; infinity if there is none."""
        if not derive(self.relaxation, state):
            return np.inf
        for step in case.steps:
            if not self._step(step, state):
                return np.inf
        known = max(known, state.lower_bound(self.relaxation))
        if case.packing is not None:
            known = max(known, self._packing(case.packing, state))
        if case.refutation is not None:
            known = max(known, self._refutation(case.refutation, state))
        for each in case.sums:
            known = max(known, self._sum(each, self.relaxation, state, state.active, known))
        if case.task < 0:
            return known
        return max(known, self._cases(case, state, known))

    def _cases(self, case: Case, state: State, known: float) -> float:
        """The least of the cases of a task, which must be complete."""
        self._index(case.task, self.n, "task")
        if len(case.workers) != len(case.cases):
            raise InvalidCertificate(
                f"there are {len(case.cases)} cases for {len(case.workers)} workers"
            )
        missing = set(np.flatnonzero(state.may[case.task]).tolist()) - set(case.workers)
        if missing:
            raise InvalidCertificate(
                f"no case has task {case.task} on worker {min(missing)}, where it may run"
            )
        least = np.inf
        for worker, each in zip(case.workers, case.cases, strict=True):
            self._index(worker, self.w, "worker")
            if state.may[case.task, worker]:
                least = min(least, self.case(each, _fixed(state, case.task, worker), known))
        return least

    def _step(self, step: Step, state: State) -> bool:
        """Take over what the step proves; False if nothing remains possible."""
        found = [(each, self._raised(each, state)) for each in step.raised]
        for each, value in found:
            values = state.head if each.forward else state.tail
            values[each.task, each.worker] = max(values[each.task, each.worker], value)
            if value == np.inf:
                state.may[each.task, each.worker] = False
        for out in step.excluded:
            self._index(out.task, self.n, "task")
            self._index(out.worker, self.w, "worker")
            if derive(self.relaxation, _fixed(state, out.task, out.worker)):
                raise InvalidCertificate(
                    f"task {out.task} is excluded from worker {out.worker} without a contradiction"
                )
        for out in step.excluded:
            state.may[out.task, out.worker] = False
        return derive(self.relaxation, state)

    def _raised(self, each: Raise, state: State) -> float:
        """Seconds that the tip of a cone waits for, infinity if it cannot be on that worker."""
        self._index(each.task, self.n, "task")
        self._index(each.worker, self.w, "worker")
        key = (each.task, each.forward)
        if key not in self.cones:
            self.cones[key] = Cone.of(self.relaxation, *key)
        cone = self.cones[key]
        inside = cone.state(state, each.worker)
        whole = inside.upper
        inside.upper = limit = min(whole, each.limit)
        if not limit > 0 or not derive(cone.relaxation, inside):
            value = limit
        else:
            value = inside.lower_bound(cone.relaxation)
            value = max(value, float(inside.head[each.task, each.worker]))
            if each.sum is not None:
                ancestors = cone.active.copy()
                ancestors[each.task] = False
                value = max(value, self._sum(each.sum, cone.relaxation, inside, ancestors, value))
            value = min(value, limit)
        if value >= whole * (1 - 2 * ROUNDING):
            return np.inf
        if not value >= each.value:
            raise InvalidCertificate(
                f"task {each.task} on worker {each.worker} is said to wait for {each.value:.9g} s, "
                f"but that is proven for {value:.9g} s only"
            )
        return each.value

    def _sum(
        self, each: Sum, relaxation: Relaxation, state: State, tasks: np.ndarray, known: float
    ) -> float:
        """Each task costs at least what it costs where the sum of all rows is least."""
        price = np.zeros((self.n, self.w))
        total, offset = 0.0, 0.0
        before = known
        guessed = each.known > known or any(row.unit for row in each.windows)
        if guessed:
            known = each.known
            if not 0 < known < np.inf:
                raise InvalidCertificate(f"a sum takes {known!r} s for known; expected > 0")
        for row in each.windows:
            self._index(row.worker, self.w, "worker")
            self._index(row.kind, len(relaxation.work), "kind of work")
            self._multiplier(row.multiplier)
            # A little lower, so that heads that were added up in another order still count.
            since, until = row.since * (1 - ROUNDING), row.until * (1 - ROUNDING)
            inside = (state.head[:, row.worker] >= since) & (state.tail[:, row.worker] >= until)
            inside &= state.may[:, row.worker]
            given, seconds = self._counted(
                row, relaxation.work[row.kind, inside, row.worker], known
            )
            price[inside, row.worker] += row.multiplier * seconds
            total += row.multiplier
            offset += row.multiplier * given
        through = state.through(relaxation)
        for path in each.paths:
            self._index(path.task, self.n, "task")
            self._multiplier(path.multiplier)
            price[path.task] += path.multiplier * through[path.task]
            total += path.multiplier
        if total > 1 + 1e-9:
            raise InvalidCertificate(f"multipliers add up to {total:.9g}; they may to 1 at most")
        price[~state.may] = np.inf
        shared = float(price[tasks].min(axis=1).sum())
        value = (offset + shared + max(0.0, 1 - total) * known) * (1 - ROUNDING)
        # What proves no more than it took for known proves nothing.
        return before if guessed and value <= known else value

    def _counted(self, row: Window, work: Floats, known: float) -> tuple[float, Floats]:
        """Seconds that the row counts in any case, and of each task that is inside."""
        if row.unit == 0:
            return min(known, (row.since + row.until) * (1 - ROUNDING)), work
        if not 0 < row.unit < np.inf:
            raise InvalidCertificate(f"the unit of a window is {row.unit!r} s; expected >= 0")
        # The room has a margin, by far larger than what `since` and `until` were lowered by.
        return counted(work, max(0.0, known - row.since - row.until), known, row.unit)

    def _packing(self, packing: Packing, state: State) -> float:
        """Seconds within which the tasks do not fit."""
        limit = min(packing.limit, state.upper)
        if not limit > 0:
            raise InvalidCertificate(f"the limit of a packing is {packing.limit!r}; expected > 0")
        inside = state.copy()
        inside.upper = limit
        if not derive(self.relaxation, inside):
            return limit * (1 - ROUNDING)
        self._priced(packing)
        # A little sooner, so that heads that were added up in another order still count.
        end = limit * (1 - 2 * ROUNDING)
        held = sum(held_by_each(self.relaxation, inside, packing, end))
        if held >= sum(packing.prices):
            raise InvalidCertificate(
                f"tasks are said not to fit within {limit:.9g} s, but workers hold {held} "
                f"of the {sum(packing.prices)} that they are worth"
            )
        return end

    def _refutation(self, refutation: Refutation, state: State) -> float:
        """Seconds that all its cases take longer than."""
        if self.n > MOST_TASKS:
            raise InvalidCertificate(
                f"a refutation is about {self.n} tasks; it is followed for {MOST_TASKS} at most"
            )
        limit = min(refutation.limit, state.upper)
        if not limit > 0:
            raise InvalidCertificate(
                f"the limit of a refutation is {refutation.limit!r}; expected > 0"
            )
        inside = state.copy()
        # A little sooner, so that heads that were added up in another order still count.
        inside.upper = limit * (1 - 2 * ROUNDING)
        alone = never_at_once(self.instance, expand(self.instance))
        Recut(self.relaxation, alone).follow(refutation, inside)
        return inside.upper

    def _priced(self, packing: Packing) -> None:
        """Tasks and prices are such that the dearest sets can be found."""
        tasks, prices = packing.tasks, packing.prices
        if len(tasks) != len(prices) or len(set(tasks)) < len(tasks):
            raise InvalidCertificate("a packing needs one price for each task, and each task once")
        for task, price in zip(tasks, prices, strict=True):
            self._index(task, self.n, "task")
            if not price > 0:
                raise InvalidCertificate(f"the price of task {task} is {price!r}; expected > 0")
        if sum(prices) > MOST_WORTH:
            raise InvalidCertificate(
                f"prices add up to {sum(prices)}; {MOST_WORTH} are looked at, at most"
            )

    def _index(self, value: int, size: int, what: str) -> None:
        if not 0 <= value < size:
            raise InvalidCertificate(
                f"there is no {what} {value}; there are {size}, counted from 0"
            )

    def _multiplier(self, value: float) -> None:
        if not 0 <= value < np.inf:
            raise InvalidCertificate(f"a multiplier is {value!r}; expected a number >= 0")


def _fixed(state: State, task: int, worker: int) -> State:
    copy = state.copy()
    copy.may[task] = False
    copy.may[task, worker] = True
    return copy
