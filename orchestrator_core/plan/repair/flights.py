"""Which of the planned transfers have begun, and which may still begin (stage 3, repair)."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.observe import TOLD
from orchestrator_core.plan.repair.planned import Planned
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING, Rest, Sends
from orchestrator_core.plan.repair.told import Told


def ran_elsewhere(planned: Planned, told: Told) -> NDArray[np.bool_]:
    """(n,) tasks that were told to have run on another worker than planned."""
    return np.asarray((told.known == TOLD) & (planned.worker != told.worker), dtype=np.bool_)


def begun_sends(p: Problem, planned: Planned, told: Told, now: float, status: Ints) -> Sends:
    """The planned transfers that have begun, no sooner than their output was made; those on their
    way take what the links take now."""
    sends, w = planned.sends, len(told.alive)
    unit = sends.unit
    late = np.maximum(0.0, told.end[unit] - sends.sent)
    moved = _in_turn(p, sends, late)
    begun = (status[unit] == ENDED) & (moved.sent < now) & (sends.destination < w)
    # An output that was made elsewhere than planned was not sent from where it was planned.
    begun &= ~ran_elsewhere(planned, told)[unit]
    alive = np.append(told.alive, np.zeros(len(planned.worker_names) - w, dtype=np.bool_))
    begun &= (moved.arrived <= now) | alive[sends.source]
    return _at_todays_pace(p, moved.chosen(begun), now)


def _later(sends: Sends, by: Floats) -> Sends:
    """The same, so many seconds later."""
    sent, encoded, arrived = sends.sent + by, sends.encoded + by, sends.arrived + by
    return sends._replace(sent=sent, encoded=encoded, arrived=arrived)


def _in_turn(p: Problem, sends: Sends, late: Floats) -> Sends:
    """Each so many seconds later, and each encoding with a thread of its worker to itself: those
    that a late output delays would begin all at once."""
    moved, waits = _later(sends, late), np.zeros(len(late))
    encodes = (sends.encoded > sends.sent) & (sends.source < p.n_workers)
    for b in np.unique(sends.source[encodes & (late > 0.0)]).tolist():
        mine = np.flatnonzero(encodes & (sends.source == b))
        mine = mine[np.lexsort((sends.sent[mine], moved.sent[mine]))]
        free = [0.0] * min(int(p.worker_threads[b]), len(mine))
        for x in mine.tolist():
            begin = max(float(moved.sent[x]), heappop(free))
            waits[x] = begin - moved.sent[x]
            heappush(free, float(begin + sends.encoded[x] - sends.sent[x]))
    return _later(moved, waits)


def _at_todays_pace(p: Problem, sends: Sends, now: float) -> Sends:
    """The same; what the links of today would have brought before `now` has come by now."""
    flying = np.flatnonzero(sends.arrived > now)
    if not len(flying):
        return sends
    route, nbytes = (sends.source[flying], sends.destination[flying]), p.output_bytes[sends.unit]
    encoded, arrived = sends.encoded.copy(), sends.arrived.copy()
    encoded[flying] = sends.sent[flying] + nbytes[flying] * p.encode[route]
    way = p.latency[route] + nbytes[flying] * p.per_byte[route]
    arrived[flying] = np.maximum(now, encoded[flying] + way)
    return sends._replace(encoded=encoded, arrived=arrived)


def without_crowding(basis: Basis, told: Told, status: Ints, sends: Sends, now: float) -> Sends:
    """The transfers without encodings that can still not be going on, since something is late:
    where a worker has not enough threads for what runs and is encoded there, they have to wait."""
    p = basis.problem
    encoding = np.flatnonzero(sends.encoded > now)
    if not len(encoding):
        return sends
    taken = np.zeros(len(told.alive))
    running = np.flatnonzero((status == RUNNING) & (told.worker < len(taken)))
    np.add.at(taken, told.worker[running], p.threads[told.mode[running]])
    np.add.at(taken, sends.source[encoding], 1.0)
    crowded = taken[sends.source[encoding]] > p.worker_threads[sends.source[encoding]]
    kept = np.ones(len(sends.unit), dtype=np.bool_)
    kept[encoding[crowded]] = False
    return sends.chosen(kept)


def later_sends(planned: Planned, rest: Rest) -> Sends:
    """The planned transfers that have not begun and whose ends are still where they were."""
    sends, w = planned.sends, len(rest.alive)
    place = np.where(rest.status == WAITING, planned.worker, rest.home)
    fine = (sends.destination < w) & (place[sends.unit] == sends.source) & (sends.source < w)
    fine[fine] = rest.alive[sends.destination[fine]]
    fine[fine] = ~(rest.present[sends.unit[fine], sends.destination[fine]] < np.inf)
    return sends.chosen(fine)


def still_there(sends: Sends, rest: Rest) -> Sends:
    """The transfers whose output is still made and whose destination still has it, or has had it
    and forgotten it."""
    present = rest.present[sends.unit, sends.destination]
    had = (sends.arrived <= rest.now) & rest.alive[sends.destination]
    kept = (rest.status[sends.unit] == ENDED) & ((present < np.inf) | had)
    # An event has shown that it was there before.
    kept &= (sends.arrived <= rest.now) | (present >= sends.arrived)
    if kept.all():
        return sends
    return sends.chosen(kept)
