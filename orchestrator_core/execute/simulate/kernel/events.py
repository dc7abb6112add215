"""Events: a heap of what is to happen, soonest first, in the order of its being noted."""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.state import (
    ABOUT,
    EVENTS,
    LAST_SERIAL,
    SERIAL,
    WHAT,
    WHO,
    State,
)
from orchestrator_core.plan.engine.compiled import inlined


@inlined
def note(s: State, moment: float, what: int, who: int) -> None:
    """`what` is to happen to `who` at that moment."""
    place = s.number[EVENTS]
    s.number[EVENTS] += 1
    s.number[LAST_SERIAL] += 1
    while place > 0:
        above = (place - 1) >> 1
        if s.moment[above] <= moment:
            break
        _move(s, above, place)
        place = above
    s.moment[place] = moment
    s.event[place, SERIAL] = s.number[LAST_SERIAL]
    s.event[place, WHAT], s.event[place, WHO] = what, who


@inlined
def next_event(s: State) -> int:
    """Take the first event away: what happens; to whom, `s.number[ABOUT]` says."""
    what, s.number[ABOUT] = s.event[0, WHAT], s.event[0, WHO]
    s.number[EVENTS] -= 1
    last = s.number[EVENTS]
    place = 0
    while True:
        below = 2 * place + 1
        if below + 1 < last and _before(s, below + 1, below):
            below += 1
        if below >= last or not _before(s, below, last):
            break
        _move(s, below, place)
        place = below
    _move(s, last, place)
    return int(what)


@inlined
def _before(s: State, a: int, b: int) -> bool:
    if s.moment[a] != s.moment[b]:
        return bool(s.moment[a] < s.moment[b])
    return bool(s.event[a, SERIAL] < s.event[b, SERIAL])


@inlined
def _move(s: State, source: int, target: int) -> None:
    s.moment[target] = s.moment[source]
    s.event[target, SERIAL] = s.event[source, SERIAL]
    s.event[target, WHAT] = s.event[source, WHAT]
    s.event[target, WHO] = s.event[source, WHO]
