"""Workers that run what they are given, moment by moment.

A worker fetches the inputs that it lacks as soon as it is given a unit, encodes what others fetch
before it begins new units, and begins units by priority once their inputs are there and threads and
resources are free. What takes no time takes neither, and begins at once. Which unit goes where is
the policy's affair.
"""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.events import note
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.lines import join, leave, take_first
from orchestrator_core.execute.simulate.kernel.sent import (
    new_transfer,
    transfer_of,
    wait_for,
    wait_no_more,
)
from orchestrator_core.execute.simulate.kernel.state import (
    ARRIVED,
    AWAKE,
    AWAKE_ONES,
    BEGUN,
    DESTINATION,
    ENCODED,
    END,
    FIRST,
    FULL,
    IS_AWAKE,
    KEY,
    MISSING,
    START,
    THERE,
    TRANSFER,
    UNIT,
    WORKER,
    State,
)
from orchestrator_core.execute.simulate.kernel.what import ARRIVAL, DONE, ENCODING_DONE
from orchestrator_core.plan.engine.compiled import inlined

ROUNDING = 1e-9
"""Of a resource, that may be lacking."""


@inlined
def give(job: Job, s: State, unit: int, worker: int) -> None:
    """The worker is to run the unit, whose inputs are done; it fetches what it lacks."""
    s.unit[unit, WORKER] = worker
    missing = 0
    for need in range(job.in_ptr[unit], job.in_ptr[unit + 1]):
        producer = job.in_unit[need]
        if s.unit[producer, WORKER] != worker:
            x = fetch(job, s, producer, worker)
            if not s.sent[x, ARRIVED]:
                wait_for(s, need, x)
                missing += 1
    s.unit[unit, MISSING] = missing
    if not missing:
        _line_up(job, s, unit)


@inlined
def take_back(job: Job, s: State, unit: int) -> None:
    """The worker is not to run the unit, which has not begun."""
    if not s.unit[unit, MISSING]:
        leave(s, s.unit[unit, WORKER], unit)
    for need in range(job.in_ptr[unit], job.in_ptr[unit + 1]):
        if s.need[need, TRANSFER] >= 0:
            wait_no_more(s, need)
    s.unit[unit, WORKER] = -1


@inlined
def fetch(job: Job, s: State, unit: int, worker: int) -> int:
    """The transfer of the output of the unit, which has ended, to another worker."""
    x = transfer_of(s, unit, worker)
    if x >= 0:
        return x
    x = new_transfer(s, unit, worker)
    if s.number[FULL]:
        return x
    source = s.unit[unit, WORKER]
    if job.size[unit] * job.encode[source, worker] > 0:
        u, w = len(job.mode), len(job.worker_threads)
        # Before all units; among themselves by unit, then destination.
        s.node[u + x, KEY] = (unit - u) * w + worker
        join(s, source, u + x)
        awaken(s, source)
    else:
        _send(job, s, x, 0.0)
    return x


@inlined
def arrive(job: Job, s: State, x: int) -> None:
    """The transfer is there: count it for those who wait for it."""
    s.sent[x, ARRIVED] = 1
    while s.sent[x, FIRST] >= 0:
        unit = wait_no_more(s, s.sent[x, FIRST])
        s.unit[unit, MISSING] -= 1
        if not s.unit[unit, MISSING]:
            _line_up(job, s, unit)


@inlined
def awaken(s: State, worker: int) -> None:
    """Something has changed on the worker: look whether it can begin something."""
    if not s.awake[worker, IS_AWAKE]:
        s.awake[worker, IS_AWAKE] = 1
        place = s.number[AWAKE_ONES]
        s.number[AWAKE_ONES] += 1
        while place > 0 and s.awake[place - 1, AWAKE] > worker:
            s.awake[place, AWAKE] = s.awake[place - 1, AWAKE]
            place -= 1
        s.awake[place, AWAKE] = worker


@inlined
def begin_what_fits(job: Job, s: State) -> None:
    """Let each worker begin what is first in its line, as long as there is room for it."""
    for i in range(s.number[AWAKE_ONES]):
        worker = s.awake[i, AWAKE]
        s.awake[worker, IS_AWAKE] = 0
        begin_at_hand(job, s, worker)
    s.number[AWAKE_ONES] = 0


@inlined
def begin_at_hand(job: Job, s: State, worker: int) -> None:
    """Let the worker begin what it has been given, as long as there is room for it.

    For a policy that is told that a unit has ended: its worker goes on before anybody has heard of
    it, so what the unit made ready waits for the next one that ends.
    """
    while s.root[worker] >= 0 and _begin(job, s, worker, s.root[worker]):
        take_first(s, worker)


@inlined
def free_threads(job: Job, s: State, unit: int) -> None:
    """The unit has ended."""
    worker, mode = s.unit[unit, WORKER], job.mode[unit]
    if job.seconds[mode, worker] <= 0:
        return
    s.threads[worker] += job.threads[mode]
    for resource in range(job.demand.shape[1]):
        s.free[worker, resource] += job.demand[mode, resource]
    awaken(s, worker)


@inlined
def _line_up(job: Job, s: State, unit: int) -> None:
    worker = s.unit[unit, WORKER]
    if job.seconds[job.mode[unit], worker] > 0:
        join(s, worker, unit)
        awaken(s, worker)
    else:
        s.when[unit, START] = s.when[unit, END] = s.clock[0]
        note(s, s.clock[0], DONE, unit)


@inlined
def _begin(job: Job, s: State, worker: int, node: int) -> bool:
    """Begin what is first in a worker's line; False if it does not fit yet."""
    if node >= len(job.mode):
        return _begin_encoding(job, s, worker, node - len(job.mode))
    mode = job.mode[node]
    if not _fits(job, s, worker, mode):
        return False
    s.threads[worker] -= job.threads[mode]
    for resource in range(job.demand.shape[1]):
        s.free[worker, resource] -= job.demand[mode, resource]
    s.when[node, START] = s.clock[0]
    s.when[node, END] = s.clock[0] + job.seconds[mode, worker]
    note(s, s.when[node, END], DONE, node)
    return True


@inlined
def _fits(job: Job, s: State, worker: int, mode: int) -> bool:
    if s.threads[worker] < job.threads[mode]:
        return False
    for resource in range(job.demand.shape[1]):
        amount = job.demand[mode, resource]
        if amount > 0 and s.free[worker, resource] + ROUNDING < amount:
            return False
    return True


@inlined
def _begin_encoding(job: Job, s: State, worker: int, x: int) -> bool:
    if s.threads[worker] < 1:
        return False
    s.threads[worker] -= 1
    seconds = job.size[s.sent[x, UNIT]] * job.encode[worker, s.sent[x, DESTINATION]]
    _send(job, s, x, seconds)
    note(s, s.clock[0] + seconds, ENCODING_DONE, x)
    return True


@inlined
def _send(job: Job, s: State, x: int, encoding: float) -> None:
    unit, worker = s.sent[x, UNIT], s.sent[x, DESTINATION]
    source = s.unit[unit, WORKER]
    encoded = s.clock[0] + encoding
    s.sent_at[x, BEGUN], s.sent_at[x, ENCODED] = s.clock[0], encoded
    there = encoded + job.latency[source, worker]
    s.sent_at[x, THERE] = there + job.size[unit] * job.per_byte[source, worker]
    note(s, s.sent_at[x, THERE], ARRIVAL, x)
