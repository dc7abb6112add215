"""The constraints of a window in CP-SAT, one function each. Times in ticks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.cpsat.units import whole_units
from orchestrator_core.plan.cpsat.windows.frame import Frame, Option, delays_from
from orchestrator_core.plan.cpsat.windows.timeline import amounts


@dataclass(slots=True)
class Window:
    """The model under construction.

    Attributes:
        unit: seconds of a tick. target: ticks, no makespan is later.
        start: of each free task and each band item. taken: of each free task's options.
        sends: start of the encoding, by (task, destination), where the window decides on it.
        spans: (interval, amount) by group of the timeline.
    """

    cp: Any
    frame: Frame
    unit: float
    target: int
    makespan: Any
    start: dict[int, Any] = field(default_factory=dict)
    taken: dict[int, list[Any]] = field(default_factory=dict)
    sends: dict[tuple[int, int], Any] = field(default_factory=dict)
    spans: dict[int, list[tuple[Any, float]]] = field(default_factory=lambda: defaultdict(list))

    def ticks(self, seconds: float) -> int:
        return round(seconds / self.unit)

    def sum(self, task: int, constants: list[int]) -> Any:
        """The constant of the option that the task takes."""
        if len(constants) == 1 or min(constants) == max(constants):
            return constants[0]
        return cp_model.LinearExpr.weighted_sum(self.taken[task], constants)

    def length(self, task: int) -> Any:
        return self.sum(task, [self.ticks(o.seconds) for o in self.options(task)])

    def options(self, task: int) -> tuple[Option, ...]:
        return self.frame.options[self.frame.place[task]]


def free_tasks_take_an_option(v: Window) -> None:
    """One option each; it starts after the option's head, ends by its latest end, and the makespan
    is its tail later."""
    kinds = len(v.frame.line.supply) // v.frame.line.problem.n_workers
    taken_by_mode = amounts(v.frame.line.problem)
    for t, options in zip(v.frame.free, v.frame.options, strict=True):
        heads = [v.ticks(o.head) for o in options]
        ends = [v.target - v.ticks(o.seconds + o.tail) for o in options]
        start = v.start[t] = v.cp.new_int_var(min(heads), max(min(heads), *ends), "")
        taken = v.taken[t] = [v.cp.new_bool_var("") for _ in options]
        v.cp.add_exactly_one(taken)
        v.cp.add(start >= v.sum(t, heads))
        v.cp.add(start + v.sum(t, [v.ticks(o.seconds + o.tail) for o in options]) <= v.makespan)
        if any(np.isfinite(o.latest) for o in options):
            last = [v.ticks(min(o.latest, 2 * v.target * v.unit) - o.seconds) for o in options]
            v.cp.add(start <= v.sum(t, last))
        for option, x in zip(options, taken, strict=True):
            ticks = v.ticks(option.seconds)
            if ticks > 0:
                alone = sum(o.worker == option.worker for o in options) == 1
                begin = start if alone else _own_start(v, start, x)
                interval = v.cp.new_optional_fixed_size_interval_var(begin, ticks, x, "")
                for kind in np.flatnonzero(taken_by_mode[option.mode] > 0).tolist():
                    amount = float(taken_by_mode[option.mode, kind])
                    v.spans[option.worker * kinds + kind].append((interval, amount))


def _own_start(v: Window, start: Any, present: Any) -> Any:
    """As in `model.py` of the whole: intervals of one cumulative had better not share a start."""
    own = v.cp.new_int_var(0, v.target, "")
    v.cp.add(own == start).only_enforce_if(present)
    return own


def band_keeps_its_order(v: Window) -> None:
    """Band items follow each other over the arcs of the order graph, between heads and tails."""
    frame, graph, line = v.frame, v.frame.graph, v.frame.line
    for item in frame.band.tolist():
        low, tail = v.ticks(frame.head[item]), v.ticks(graph.tail[item])
        high = v.target - tail
        if np.isfinite(graph.latest[item]):
            high = min(high, v.ticks(graph.latest[item]))
        start = v.start[item] = v.cp.new_int_var(low, max(low, high), "")
        v.cp.add(start + tail <= v.makespan)
    inside = np.zeros(len(line.start), dtype=bool)
    inside[frame.band] = True
    both = inside[graph.arcs[0]] & inside[graph.arcs[1]]
    arcs = graph.arcs[:, both]
    for a, b, lag in zip(*arcs.tolist(), graph.lag[both].tolist(), strict=True):
        v.cp.add(v.start[b] >= v.start[a] + v.ticks(lag))
    intervals: dict[int, Any] = {}
    used = inside[line.uses[1]]
    for group, item, amount in zip(
        *line.uses[:, used].tolist(), line.amount[used].tolist(), strict=True
    ):
        if item not in intervals:
            ticks = v.ticks(line.end[item] - line.start[item])
            intervals[item] = v.cp.new_fixed_size_interval_var(v.start[item], ticks, "")
        v.spans[group].append((intervals[item], amount))


def inputs_of_free_tasks(v: Window) -> None:
    """start >= end of each producer + the way from its worker, by the option; frozen producers are
    in the heads."""
    line, p = v.frame.line, v.frame.line.problem
    for t in v.frame.free:
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            a = int(p.in_task[k])
            if a in v.taken:
                _between_free(v, t, a, k)
            elif a in v.start:
                done = v.ticks(line.end[a] - line.start[a])
                way = delays_from(line, k, a, int(line.worker[a]))
                v.cp.add(v.start[t] >= v.start[a] + done + v.sum(t, _to(v, t, way)))


def _between_free(v: Window, t: int, a: int, edge: int) -> None:
    """For each worker of the producer: if it is there, plus the way to where the consumer is."""
    for source in dict.fromkeys(o.worker for o in v.options(a)):
        here = [x for x, o in zip(v.taken[a], v.options(a), strict=True) if o.worker == source]
        way = _to(v, t, delays_from(v.frame.line, edge, a, source))
        for x in here:
            if max(way) > 0:
                arrives = v.start[a] + v.length(a) + v.sum(t, way)
                v.cp.add(v.start[t] >= arrives).only_enforce_if(x)
    v.cp.add(v.start[t] >= v.start[a] + v.length(a))


def _to(v: Window, t: int, way: Floats) -> list[int]:
    return [v.ticks(way[o.worker]) for o in v.options(t)]


def outputs_of_free_tasks(v: Window) -> None:
    """start of a band item that consumes >= end + the way to its worker; those beyond are in the
    tails."""
    line, p = v.frame.line, v.frame.line.problem
    for t in v.frame.free:
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = int(p.out_task[k])
            if c in v.start and c not in v.taken:
                there, nbytes = int(line.worker[c]), float(p.out_bytes[k])
                after = [
                    v.ticks(o.seconds + _way(v, t, nbytes, o.worker, there)) for o in v.options(t)
                ]
                v.cp.add(v.start[c] >= v.start[t] + v.sum(t, after))


def _way(v: Window, producer: int, nbytes: float, source: int, there: int) -> float:
    p = v.frame.line.problem
    if source == there:
        return 0.0
    encode = float(p.output_bytes[producer] * p.encode[source, there])
    return encode + float(p.latency[source, there] + nbytes * p.per_byte[source, there])


def groups_fit(v: Window) -> None:
    """At every moment, what runs takes at most the group's supply."""
    for group, spans in sorted(v.spans.items()):
        supply = float(v.frame.line.supply[group])
        taken = [amount for _, amount in spans]
        if sum(taken) <= supply:
            continue
        if 2 * min(taken) > supply:
            v.cp.add_no_overlap([interval for interval, _ in spans])
        else:
            demands, capacity = whole_units(taken, supply)
            v.cp.add_cumulative([interval for interval, _ in spans], demands, capacity)


def stock_lasts(v: Window) -> None:
    """What the free tasks' modes consume is in the stock, less what the fixed ones consume."""
    line = v.frame.line
    graph, stock = line.instance.graph, line.instance.cluster.stock
    fixed = np.ones(line.n_tasks, dtype=bool)
    fixed[list(v.frame.free)] = False
    times = np.bincount(graph.demand_of[line.mode[fixed]], minlength=len(graph.demands))
    for name in sorted({name for demand in graph.demands for name in demand.consumes}):
        each = np.array([demand.consumes.get(name, 0.0) for demand in graph.demands])
        terms = [
            (x, float(each[graph.demand_of[o.mode]]))
            for t, options in zip(v.frame.free, v.frame.options, strict=True)
            for x, o in zip(v.taken[t], options, strict=True)
        ]
        left = max(0.0, stock.get(name, 0.0) - float(each @ times))
        if sum(amount for _, amount in terms) > left:
            demands, capacity = whole_units([amount for _, amount in terms], left)
            v.cp.add(cp_model.LinearExpr.weighted_sum([x for x, _ in terms], demands) <= capacity)
