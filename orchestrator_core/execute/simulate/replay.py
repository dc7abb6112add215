"""Replay: a plan carried out, with the durations that come.

Each worker keeps the plan's order: it begins its tasks and encodings one by one as planned, each
as soon as its inputs are there and threads and resources are free, and none before the one planned
before it has begun. So nothing begins later than planned if nothing takes longer than planned.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInstance, InvalidSchedule
from orchestrator_core.execute.simulate.units import Units, units_of
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.checks.rows import Rows, resolve
from orchestrator_core.plan.schedule import Schedule

Item = tuple[float, int, int, int, int]
"""Planned seconds, place of its unit in topological order, piece, unit, transfer (-1: a piece)."""


def replay(
    instance: Instance,
    schedule: Schedule,
    seconds: ArrayLike | None = None,
    *,
    hold: bool = False,
) -> Schedule:
    """The schedule that comes about when this one is carried out.

    With the instance's own durations its makespan is at most the plan's; a plan without needless
    idle time is reproduced to the tick, and with `hold` every valid plan is. Limits of memory,
    dates and stock are not looked at.

    Args:
        schedule: valid for the instance.
        seconds: (modes, workers) durations that come instead of the instance's.
        hold: begin nothing before its planned start.

    Raises:
        InvalidSchedule: if it is not a schedule of this instance.
        InvalidInstance: if `seconds` lacks a duration that is needed.
    """
    rows = resolve(instance, schedule)
    lengths = lengths_of(rows, seconds_of(instance, seconds))
    units = units_of(instance)
    run = _Run(rows, units, lengths, hold)
    for item in _in_planned_order(rows, units):
        run.begin(item)
    return run.schedule()


def seconds_of(instance: Instance, seconds: ArrayLike | None) -> Floats:
    """(modes, workers) the durations that come."""
    if seconds is None:
        return instance.seconds
    table = np.asarray(seconds, dtype=np.float64)
    if table.shape != instance.seconds.shape:
        raise InvalidInstance(
            f"seconds has shape {table.shape}; expected (modes, workers) = {instance.seconds.shape}"
        )
    return table


def lengths_of(rows: Rows, table: Floats) -> Floats:
    """(k,) seconds that each assignment takes."""
    taken = table[rows.mode, rows.worker]
    wrong = ~(np.isfinite(taken) & (taken >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInstance(
            f"{rows.label(at)} takes {taken[at]:g} s on {rows.place(int(rows.worker[at]))}; "
            "it must be finite and >= 0"
        )
    return np.asarray(taken, dtype=np.float64)


def _in_planned_order(rows: Rows, units: Units) -> list[Item]:
    """All pieces and encodings, in an order in which everything follows what it waits for.

    Planned times alone could misplace neighbours by a rounding error, so each time is raised to
    that of what it waits for; at equal times, producers come first.
    """
    schedule = rows.schedule
    sends: dict[int, list[int]] = {}
    for t, unit in enumerate(rows.sent.tolist()):
        sends.setdefault(unit, []).append(t)
    row_of, worker = rows.row_of.tolist(), rows.worker.tolist()
    planned, send_at = schedule.start.tolist(), schedule.transfer_start.tolist()
    destination = rows.destination.tolist()
    key, sent_key = [0.0] * len(units), dict[tuple[int, int], float]()
    items: list[Item] = []
    for place, unit in enumerate(units.order):
        row = row_of[unit]
        at = planned[row]
        for producer in units.inputs[unit]:
            at = max(at, key[producer], sent_key.get((producer, worker[row]), 0.0))
        pieces = schedule.segments.get(row, ((at, at),))
        for piece, (start, _) in enumerate(pieces):
            at = max(at, start)
            items.append((at, place, piece, unit, -1))
        key[unit] = at
        for t in sends.get(unit, ()):
            later = max(at, send_at[t])
            sent_key[unit, destination[t]] = later
            items.append((later, place, len(pieces), unit, t))
    items.sort()
    return items


class _Worker:
    """What is free on a worker when its latest item begins, and what still runs then."""

    def __init__(self, threads: int, resources: dict[str, float]) -> None:
        self.threads, self.resources = threads, resources
        self.latest = 0.0
        self.began = 0
        # (end, serial number, threads, resources), soonest end first.
        self.running: list[tuple[float, int, int, Mapping[str, float]]] = []

    def begin(
        self, ready: float, seconds: float, threads: int, needs: Mapping[str, float]
    ) -> float:
        """When an item begins that is ready then: once it fits, not before the one before it.

        What takes no time takes no thread, and begins when it is ready.
        """
        if seconds <= 0:
            return ready
        start = max(ready, self.latest)
        while self.running and (self.running[0][0] <= start or not self._fits(threads, needs)):
            start = max(start, self._end_one())
        self.threads -= threads
        for name, amount in needs.items():
            self.resources[name] -= amount
        self.latest = start
        self.began += 1
        heapq.heappush(self.running, (start + seconds, self.began, threads, needs))
        return start

    def _end_one(self) -> float:
        end, _, threads, needs = heapq.heappop(self.running)
        self.threads += threads
        for name, amount in needs.items():
            self.resources[name] += amount
        return end

    def _fits(self, threads: int, needs: Mapping[str, float]) -> bool:
        return threads <= self.threads and all(
            amount <= self.resources[name] + 1e-9 * max(1.0, amount)
            for name, amount in needs.items()
        )


class _Run:
    """A replay under way: columns of the schedule that comes about."""

    def __init__(self, rows: Rows, units: Units, lengths: Floats, hold: bool) -> None:
        instance, schedule = rows.instance, rows.schedule
        graph, cluster = instance.graph, instance.cluster
        self.rows, self.units, self.hold = rows, units, hold
        self.lengths: list[float] = lengths.tolist()
        self.row_of: list[int] = rows.row_of.tolist()
        self.worker: list[int] = rows.worker.tolist()
        self.mode: list[int] = rows.mode.tolist()
        names = {name for demand in graph.demands for name in demand.resources}
        self.workers: list[_Worker] = [
            _Worker(w.threads, {name: w.resources.get(name, 0.0) for name in names})
            for w in cluster.workers
        ]
        self.threads: list[int] = graph.mode_threads.tolist()
        of_demand = [dict(demand.resources) for demand in graph.demands]
        self.needs = [of_demand[demand] for demand in graph.demand_of.tolist()]
        self.release: list[float] = graph.release.tolist()
        self.size: list[float] = graph.output_bytes.tolist()
        self.latency, self.per_byte, self.encode = (
            matrix.tolist()
            for matrix in (
                cluster.latency,
                cluster.seconds_per_byte,
                cluster.encode_seconds_per_byte,
            )
        )
        self.destination: list[int] = rows.destination.tolist()
        self.planned: list[float] = schedule.start.tolist()
        self.send_at: list[float] = schedule.transfer_start.tolist()
        self.start, self.end = [0.0] * len(schedule), [0.0] * len(schedule)
        self.pieces: dict[int, list[tuple[float, float]]] = {}
        self.moves = [(0.0, 0.0, 0.0)] * len(rows.sent)
        self.encoded: dict[tuple[int, int], float] = {}

    def begin(self, item: Item) -> None:
        _, _, piece, unit, transfer = item
        if transfer >= 0:
            self._send(unit, transfer)
        elif self.row_of[unit] in self.rows.schedule.segments:
            self._run_piece(unit, piece)
        else:
            self._run(unit)

    def _run(self, unit: int) -> None:
        row = self.row_of[unit]
        ready = max(self._inputs_there(unit, row), self.planned[row] if self.hold else 0.0)
        self.start[row] = self._occupy(row, ready, self.lengths[row])
        self.end[row] = self.start[row] + self.lengths[row]

    def _run_piece(self, unit: int, piece: int) -> None:
        """One piece of a task that is paused; pieces keep their shares of the work."""
        row = self.row_of[unit]
        planned = self.rows.schedule.segments[row]
        whole = sum(end - start for start, end in planned)
        share = (planned[piece][1] - planned[piece][0]) / whole if whole else 0.0
        done = self.pieces.setdefault(row, [])
        ready = done[-1][1] if done else self._inputs_there(unit, row)
        ready = max(ready, planned[piece][0] if self.hold else 0.0)
        begin = self._occupy(row, ready, share * self.lengths[row])
        end = begin + share * self.lengths[row]
        done.append((begin, end))
        self.start[row], self.end[row] = done[0][0], end

    def _occupy(self, row: int, ready: float, seconds: float) -> float:
        mode = self.mode[row]
        needs = self.needs[mode]
        return self.workers[self.worker[row]].begin(ready, seconds, self.threads[mode], needs)

    def _inputs_there(self, unit: int, row: int) -> float:
        """Seconds at which the release is past and the parts that it waits for are there."""
        here = self.worker[row]
        ready: float = self.release[self.units.task[unit]]
        inputs = zip(self.units.inputs[unit], self.units.parts[unit], strict=True)
        for producer, part in inputs:
            source = self.worker[self.row_of[producer]]
            if source == here:
                there = self.end[self.row_of[producer]]
            elif (producer, here) in self.encoded:
                there = self.encoded[producer, here] + self.latency[source][here]
                there += part * self.per_byte[source][here]
            else:
                raise self._lacks(producer, row)
            ready = max(ready, there)
        return ready

    def _lacks(self, producer: int, row: int) -> InvalidSchedule:
        made = self.row_of[producer]
        return InvalidSchedule(
            f"{self.rows.label(row)} needs the output of {self.rows.label(made)} on "
            f"{self.rows.place(self.worker[row])}; the schedule has no transfer of it",
            rule="transfer",
            task=self.rows.name(made),
        )

    def _send(self, unit: int, transfer: int) -> None:
        row, there = self.row_of[unit], self.destination[transfer]
        source, size = self.worker[row], self.size[self.units.task[unit]]
        seconds = size * self.encode[source][there]
        ready = max(self.end[row], self.send_at[transfer] if self.hold else 0.0)
        start = self.workers[source].begin(ready, seconds, 1, {})
        encoded = self.encoded[unit, there] = start + seconds
        arrival = encoded + self.latency[source][there] + size * self.per_byte[source][there]
        self.moves[transfer] = (start, encoded, arrival)

    def schedule(self) -> Schedule:
        """What came about, in the rows of the plan."""
        plan = self.rows.schedule
        moves = np.array(self.moves, dtype=np.float64).reshape(len(self.moves), 3)
        return Schedule.from_columns(
            plan.task_names,
            plan.worker_names,
            segments={row: tuple(pieces) for row, pieces in self.pieces.items()},
            task=plan.task,
            instance=plan.instance,
            worker=plan.worker,
            mode=plan.mode,
            start=self.start,
            end=self.end,
            transfer_task=plan.transfer_task,
            transfer_instance=plan.transfer_instance,
            transfer_source=plan.transfer_source,
            transfer_destination=plan.transfer_destination,
            transfer_start=moves[:, 0],
            transfer_encoded=moves[:, 1],
            transfer_end=moves[:, 2],
            transfer_nbytes=plan.transfer_nbytes,
        )
