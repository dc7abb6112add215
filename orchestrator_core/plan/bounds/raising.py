"""Raising heads and tails by cones, and excluding workers by probing (stage 3)."""

from __future__ import annotations

from orchestrator_core.plan.bounds.certificate import Exclude, Path, Raise, Step, Sum, Window
from orchestrator_core.plan.bounds.claims import PATH
from orchestrator_core.plan.bounds.cone import Cone
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import ROUNDING, State, tightened
from orchestrator_core.plan.bounds.windows import Claims

FIRST_STEP = 0.02
"""Part of a head by which it is first tried whether it must be larger."""

MARGIN = 1e-7
"""Relative: what is proven of a head is taken for so much less, so that whoever proves it again, in
another order of sums, comes to no less, and all that is built on it stands."""


def raised_on(
    cone: Cone, state: State, worker: int, claims: Claims | None, tries: int
) -> tuple[list[Raise], Claims | None]:
    """What the cone proves of its tip on a worker; the state is changed, but not tightened.

    First for all schedules that are short enough, then for those in which the tip waits for not
    much more than is proven; if there is none, the tip must wait for as much.
    """
    limit = cone.limit(state, worker)
    before = float(cone.values(state)[cone.task, worker])
    best, claims = cone.bound(state, worker, limit, claims)
    found = [(best, limit, claims)] if best > before * (1 + 10 * MARGIN) else []
    best, step, first = max(best, before), FIRST_STEP, claims
    for _ in range(tries):
        if best >= limit * (1 - ROUNDING):
            break
        aim = min(limit, best * (1 + step))
        value, why = cone.bound(state, worker, aim, claims)
        if value > best * (1 + 10 * MARGIN):
            found.append((value, aim, why))
            best = value
        if value < aim * (1 - ROUNDING):
            break
        claims, step = why or claims, 2 * step
    if not found:
        return [], first or claims
    value, aim, why = found[-1]
    if best >= limit * (1 - ROUNDING):
        state.may[cone.task, worker] = False
    else:
        value = cone.values(state)[cone.task, worker] = value * (1 - MARGIN)
    return [_raise(cone, worker, value, aim, why)], first or claims


def _raise(cone: Cone, worker: int, value: float, limit: float, claims: Claims | None) -> Raise:
    why = None if claims is None else sum_of(claims)
    return Raise(cone.task, worker, cone.forward, float(value), float(limit), why)


def raised(
    relaxation: Relaxation, cone: Cone, state: State, tries: int
) -> tuple[State | None, Step]:
    """The state after what the cone proves of its tip, on each of its workers."""
    found: list[Raise] = []
    claims = None
    for worker in range(state.may.shape[1]):
        if state.may[cone.task, worker]:
            more, claims = raised_on(cone, state, worker, claims, tries)
            found += more
    step = Step(raised=tuple(found))
    if not state.may[cone.task].any():
        return None, step
    return (tightened(relaxation, state) if found else state), step


def probed(relaxation: Relaxation, state: State, task: int) -> tuple[State | None, Step]:
    """The state without the workers of a task that contradict what is known."""
    excluded = []
    for worker in range(state.may.shape[1]):
        if not state.may[task, worker]:
            continue
        if tightened(relaxation, fixed(state, task, worker), rounds=4) is None:
            excluded.append(Exclude(task, worker))
    for each in excluded:
        state.may[task, each.worker] = False
    step = Step(excluded=tuple(excluded))
    if not state.may[task].any():
        return None, step
    return (tightened(relaxation, state) if excluded else state), step


def fixed(state: State, task: int, worker: int) -> State:
    """A copy in which a task runs on one worker."""
    copy = state.copy()
    copy.may[task] = False
    copy.may[task, worker] = True
    return copy


def sum_of(claims: Claims) -> Sum:
    """The claims that count, as plain data."""
    rows = zip(claims.what.tolist(), claims.span.tolist(), claims.multiplier.tolist(), strict=True)
    windows, paths = [], []
    for (what, first, second), (since, until, unit), multiplier in rows:
        if multiplier <= 0:
            continue
        if what == PATH:
            paths.append(Path(first, multiplier))
        else:
            windows.append(Window(first, second, since, until, multiplier, unit))
    return Sum(tuple(windows), tuple(paths), float(claims.known))
