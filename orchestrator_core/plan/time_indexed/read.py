"""From a solution of the time-indexed program to a schedule."""

from __future__ import annotations

from ortools.sat.python import cp_model

from orchestrator_core.plan.cpsat.events import joined
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from orchestrator_core.plan.time_indexed.parts import Steps, Way
from orchestrator_core.plan.time_indexed.program import Program


def read(program: Program, solver: cp_model.CpSolver) -> Schedule:
    taken = [
        next(way for way in job.ways if solver.boolean_value(way.done[-1].ever))
        for job in program.jobs
    ]
    rows = [_assignment(program, solver, j, way) for j, way in enumerate(taken)]
    moves = [
        _transfer(program, solver, j, source, destination)
        for j, source, destination in program.sent
        if source == taken[j].worker
        and any(taken[c].worker == destination for c, _ in program.jobs[j].uses)
    ]
    return Schedule(rows, moves)


def _assignment(program: Program, solver: cp_model.CpSolver, j: int, way: Way) -> Assignment:
    job, graph = program.jobs[j], program.instance.graph
    ends = [_first(solver, done) for done in way.done]
    segments = joined(
        [
            ((end - length) * program.tick, end * program.tick)
            for end, length in zip(ends, way.length, strict=True)
        ]
    )
    return Assignment(
        task=graph.names[job.task],
        worker=program.instance.cluster.names[way.worker],
        start=segments[0][0],
        end=segments[-1][1],
        mode=way.mode - int(graph.mode_ptr[job.task]),
        instance=job.number,
        segments=tuple(segments) if len(segments) > 1 else (),
    )


def _transfer(
    program: Program, solver: cp_model.CpSolver, j: int, source: int, destination: int
) -> Transfer:
    job, names = program.jobs[j], program.instance.cluster.names
    encoded = _first(solver, program.sent[j, source, destination])
    start = encoded - program.encode_ticks(job, source, destination)
    end = encoded + program.transit_ticks(source, destination, program.output_bytes(job))
    return Transfer(
        task=program.instance.graph.names[job.task],
        source=names[source],
        destination=names[destination],
        start=start * program.tick,
        encoded=encoded * program.tick,
        end=end * program.tick,
        nbytes=program.output_bytes(job),
        instance=job.number,
    )


def _first(solver: cp_model.CpSolver, steps: Steps) -> int:
    return next(t for t, value in enumerate(steps.values) if solver.boolean_value(value))
