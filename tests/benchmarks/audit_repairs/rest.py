"""The rest of a run, as it was repaired, against the best that can still be done with it."""

from __future__ import annotations

from orchestrator_core.errors import InfeasibleInstance, InvalidGraph, UnsupportedInstance
from orchestrator_core.plan.cpsat.lengths import serial_seconds
from orchestrator_core.plan.repair import Replan
from orchestrator_core.plan.repair.remainder import Remainder, remainder_of
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING
from orchestrator_core.plan.time_indexed.criteria import criterion_of
from orchestrator_core.plan.time_indexed.limits import fit_all
from orchestrator_core.plan.time_indexed.optimum import solved
from orchestrator_core.plan.time_indexed.program import Program
from tests.benchmarks.audit.oracle import LONGEST, SECONDS
from tests.benchmarks.audit_repairs.verdict import RepairAudit


def compare(result: Replan, tick: float, audit: RepairAudit) -> None:
    """The rest as an instance: is the repair no better than its optimum, and how much worse?"""
    rest = result.remainder
    if not (result._remains.rest.status[rest.units] == WAITING).any():
        audit.outcome = "nothing left"
        return
    horizon = round(rest.schedule.makespan / tick) + 1
    least = _least(result, rest, tick, horizon)
    if least is None:
        audit.outcome = "oracle gave up"
        return
    mine = round(rest.schedule.makespan / tick)
    if least < 0 or mine < least:
        audit.violations.append(f"it ends after {mine} ticks, the optimum is {least}")
        return
    now = round(rest.now / tick)
    audit.gap = (mine - now) / (least - now) - 1 if least > now else None
    audit.is_needless = bool(result.missed) and _could_be_kept(result, tick)


def _could_be_kept(result: Replan, tick: float) -> bool:
    """Is there a way to keep all deadlines, those that are missed too?"""
    parts = (result._basis, result._remains, result._option.placed, result._sends)
    try:
        rest = remainder_of(*parts)
    except (InfeasibleInstance, InvalidGraph):  # a deadline is over already
        return False
    horizon = min(LONGEST, round((serial_seconds(rest.instance) + rest.now) / tick))
    least = _least(result, rest, tick, horizon)
    return least is not None and least >= 0


def _least(result: Replan, rest: Remainder, tick: float, horizon: int) -> int | None:
    """Ticks from the beginning of the prologue; -1 if there is no way, None if nobody knows."""
    try:
        program = Program(rest.instance, tick, horizon)
        program.refuse_if_large()
        program.state()
        fit_all(program)
        _freeze(program, result, rest)
        criterion = criterion_of(program, "makespan")
        program.model.minimize(criterion.expression)
        return round(solved(program, SECONDS).objective_value)
    except InfeasibleInstance:
        return -1
    except UnsupportedInstance:
        return None


def _freeze(program: Program, result: Replan, rest: Remainder) -> None:
    """What is running or has ended is as it is, and nothing else is sent before now."""
    now = program.ticks(rest.now, "now")
    left = result._remains.rest
    for job in program.jobs:
        unit, row = rest.units[job.task], rest.schedule.assignments[job.task]
        if left.status[unit] in (RUNNING, ENDED):
            end = program.ticks(row.end, "an end")
            program.model.add(job.completed(None, max(now, end)) == 1)
        elif left.busy_until[unit] > left.now:
            program.model.add(job.started(int(left.worker[unit]), now) == 1)
    _freeze_transfers(program, rest, now)


def _freeze_transfers(program: Program, rest: Remainder, now: int) -> None:
    names, begun = rest.instance.cluster.index, dict[tuple[int, int], int]()
    for move in rest.schedule.transfers:
        if move.start < rest.now - program.tick / 2:
            task = rest.instance.graph.index[move.task]
            encoded = program.ticks(move.encoded, "an encoding")
            begun[task, names[move.destination]] = encoded
    for (j, source, destination), sent in program.sent.items():
        job = program.jobs[j]
        since = begun.get((job.task, destination))
        if since is None:
            program.model.add(
                sent.at(now + program.encode_ticks(job, source, destination) - 1) == 0
            )
        else:
            program.model.add(sent.at(since - 1) == 0)
