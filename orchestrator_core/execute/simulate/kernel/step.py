"""From one thing that a policy must hear of to the next."""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.cluster import (
    arrive,
    awaken,
    begin_what_fits,
    free_threads,
)
from orchestrator_core.execute.simulate.kernel.events import next_event, note
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.lines import join, take_first
from orchestrator_core.execute.simulate.kernel.state import (
    ABOUT,
    EVENTS,
    FULL,
    LEFT,
    SETTLED,
    UNIT,
    WORKER,
    State,
    ready_of,
)
from orchestrator_core.execute.simulate.kernel.what import (
    ARRIVAL,
    DONE,
    ENCODING_DONE,
    OVER,
    READY,
    SETTLE,
)
from orchestrator_core.plan.engine.compiled import inlined


@inlined
def first_ones(job: Job, s: State) -> None:
    """What needs nothing is ready first."""
    for unit in range(len(job.mode)):
        if not s.unit[unit, LEFT]:
            join(s, ready_of(s), unit)


@inlined
def step(job: Job, s: State) -> int:
    """Go on to what the policy is told of next; see `what.py`. Over, too, if there is no room."""
    while not s.number[FULL]:
        unit = take_first(s, ready_of(s))
        if unit >= 0:
            s.number[ABOUT] = unit
            if job.release[unit] <= s.clock[0]:
                return READY
            note(s, job.release[unit], READY, unit)
        elif s.number[EVENTS] and s.moment[0] == s.clock[0]:
            s.number[SETTLED] = 0
            what = next_event(s)
            _happens(job, s, what, s.number[ABOUT])
            if what != ENCODING_DONE:
                return what
        elif not s.number[SETTLED]:
            s.number[SETTLED] = 1
            return SETTLE
        else:
            begin_what_fits(job, s)
            if not s.number[EVENTS]:
                break
            s.number[SETTLED] = 0
            s.clock[0] = s.moment[0]
    return OVER


@inlined
def _happens(job: Job, s: State, what: int, who: int) -> None:
    if what == DONE:
        free_threads(job, s, who)
        for k in range(job.out_ptr[who], job.out_ptr[who + 1]):
            consumer = job.out_unit[k]
            s.unit[consumer, LEFT] -= 1
            if not s.unit[consumer, LEFT]:
                join(s, ready_of(s), consumer)
    elif what == ARRIVAL:
        arrive(job, s, who)
    elif what == ENCODING_DONE:
        source = s.unit[s.sent[who, UNIT], WORKER]
        s.threads[source] += 1
        awaken(s, source)
