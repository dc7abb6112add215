"""What is scarce in each tick: threads, resources and memory; and the stock."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from orchestrator_core.plan.time_indexed.parts import whole_amounts
from orchestrator_core.plan.time_indexed.program import Program


def fit_all(program: Program) -> None:
    """All limits."""
    fit_threads(program)
    fit_resources(program)
    fit_memory(program)
    fit_stock(program)


def fit_threads(program: Program) -> None:
    threads = program.instance.graph.mode_threads
    for d, worker in enumerate(program.instance.cluster.workers):
        encodes = [
            (sent, program.encode_ticks(program.jobs[j], a, b))
            for (j, a, b), sent in program.sent.items()
            if a == d
        ]
        for t in range(program.horizon):
            tasks = sum(int(threads[way.mode]) * way.running(t) for way in program.ways_on(d))
            encoding = sum(s.at(t + ticks) - s.at(t) for s, ticks in encodes if ticks > 0)
            program.model.add(tasks + encoding <= worker.threads)


def fit_resources(program: Program) -> None:
    graph = program.instance.graph
    for d, worker in enumerate(program.instance.cluster.workers):
        for name, supply in worker.resources.items():
            needs = [graph.demand(way.mode).resources.get(name, 0.0) for way in program.ways_on(d)]
            whole, limit = whole_amounts(needs, supply, name)
            for t in range(program.horizon):
                taken = [
                    k * way.running(t)
                    for k, way in zip(whole, program.ways_on(d), strict=True)
                    if k > 0
                ]
                if taken:
                    program.model.add(sum(taken) <= limit)


def fit_stock(program: Program) -> None:
    graph, cluster = program.instance.graph, program.instance.cluster
    ways = [way for job in program.jobs for way in job.ways]
    for name in sorted({name for demand in graph.demands for name in demand.consumes}):
        needs = [graph.demand(way.mode).consumes.get(name, 0.0) for way in ways]
        whole, limit = whole_amounts(needs, cluster.stock.get(name, 0.0), name)
        used = sum(k * way.done[-1].ever for k, way in zip(whole, ways, strict=True))
        program.model.add(used <= limit)


def fit_memory(program: Program) -> None:
    """mode_memory of what runs + output_bytes of what is held, in each [t, t + 1)."""
    for d, worker in enumerate(program.instance.cluster.workers):
        if math.isinf(worker.memory):
            continue
        takers = takers_of_memory(program, d)
        whole, limit = whole_amounts([need for need, _ in takers], worker.memory, "memory")
        for t in range(program.horizon if takers else 0):
            total = sum(k * taken(t) for k, (_, taken) in zip(whole, takers, strict=True))
            program.model.add(total <= limit)


def takers_of_memory(program: Program, d: int) -> list[tuple[float, Callable[[int], Any]]]:
    """(bytes, is it taken in [t, t + 1)?) of all ways and outputs on worker d."""
    memory = program.instance.graph.mode_memory
    takers: list[tuple[float, Callable[[int], Any]]] = [
        (float(memory[way.mode]), way.running) for way in program.ways_on(d) if memory[way.mode] > 0
    ]
    for j, job in enumerate(program.jobs):
        if job.uses and program.output_bytes(job) > 0:
            takers.append((program.output_bytes(job), partial(held, program, j, d)))
    return takers


def held(program: Program, j: int, worker: int, t: int) -> Any:
    """u[j,d,t] >= there + used later - 1, for all that makes it there and all later uses."""
    job, held = program.jobs[j], program.model.new_bool_var("")
    made = job.completed(worker, t)
    consumers = [program.jobs[c] for c, _ in job.uses]
    # A consumer that starts before all has arrived holds the output from its start on.
    there = [made + program.arrived(j, worker, program.output_bytes(job), t)]
    there += [consumer.started(worker, t) for consumer in consumers]
    later = [
        consumer.completed(worker, program.horizon) - consumer.completed(worker, t)
        for consumer in consumers
    ]
    for present in there:
        for use in later:
            program.model.add(held >= present + use - 1)
    for (producer, source, _), sent in program.sent.items():
        if (producer, source) == (j, worker):
            program.model.add(held >= made + sent.ever - sent.at(t) - 1)
    return held
