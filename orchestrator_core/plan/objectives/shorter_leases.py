"""shorter_leases: the same placement, everything as late as no lease becomes longer (stage 3).

A decoder starts everything as soon as it can, so that a worker is often rented long before it is
needed. Here tasks and transfers are taken from the last to the first, and each is moved as late as
its worker's last use, its dates and what follows it allow, wherever threads and resources are free:
first uses move back, last uses stay, and the price falls or stays.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.checks.rows import Rows, resolve
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.objectives.busy import Busy
from orchestrator_core.plan.objectives.values import evaluate, leases
from orchestrator_core.plan.schedule import Schedule

LARGEST = 3_000
"""Most assignments and transfers together; the work grows with their square."""


SECONDS_EACH = 2e-4
"""That one of them takes, about."""


def seconds_to_shorten(schedule: Schedule) -> float:
    """How long `shorter_leases` takes, about."""
    items = len(schedule) + len(schedule.transfer_task)
    return SECONDS_EACH * items if items <= LARGEST else 0.0


def shorter_leases(instance: Instance, schedule: Schedule) -> Schedule:
    """The schedule with shorter leases, or itself where that is not possible: where nothing can
    move, where memory would not allow it, where tasks are paused, or where it is very large.

    No task ends after its due date that did not before, and the makespan stays.
    """
    if schedule.segments or len(schedule) + len(schedule.transfer_task) > LARGEST:
        return schedule
    later = _Later(instance, schedule).moved()
    if evaluate(instance, later, "price") >= evaluate(instance, schedule, "price"):
        return schedule
    try:
        check_schedule(instance, later)
    except InvalidSchedule:
        return schedule
    return later


class _Later:
    """Times of one schedule while they are moved; u units, x transfers."""

    def __init__(self, instance: Instance, schedule: Schedule) -> None:
        self.rows: Rows = resolve(instance, schedule)
        self.problem: Problem = expand(instance)
        row = self.rows.row_of
        self.worker, self.mode = self.rows.worker[row], self.rows.mode[row]
        self.start, self.end = schedule.start[row].copy(), schedule.end[row].copy()
        self.sent = schedule.transfer_start.copy()
        self.encoded = schedule.transfer_encoded.copy()
        self.arrived = schedule.transfer_end.copy()
        self.eps = self.rows.eps
        self.until = np.minimum(leases(self.rows)[1], schedule.makespan)
        self.latest_end = self._latest_ends()
        self.transfers: dict[int, list[int]] = {}
        for x, unit in enumerate(self.rows.sent.tolist()):
            self.transfers.setdefault(unit, []).append(x)
        self.busy = [self._busy(b) for b in range(self.problem.n_workers)]

    def _latest_ends(self) -> Floats:
        """(u,) by deadline and due date; what is late already keeps its end."""
        graph = self.rows.instance.graph
        due = graph.due[self.problem.task]
        kept = np.where(self.end <= due, due, self.end)
        return np.minimum(kept, np.maximum(self.problem.deadline, self.end))

    def _busy(self, b: int) -> Busy:
        p = self.problem
        units = np.flatnonzero(self.worker == b)
        moves = np.flatnonzero(self.rows.source == b)
        threads = np.concatenate([p.threads[self.mode[units]], np.ones(len(moves))])
        demand = np.concatenate(
            [p.demand[self.mode[units]], np.zeros((len(moves), p.supply.shape[1]))]
        )
        return Busy(
            place={("task", u): i for i, u in enumerate(units.tolist())}
            | {("move", x): len(units) + i for i, x in enumerate(moves.tolist())},
            begin=np.concatenate([self.start[units], self.sent[moves]]),
            end=np.concatenate([self.end[units], self.encoded[moves]]),
            taken=np.column_stack([threads, demand]),
            limit=np.concatenate([[p.worker_threads[b]], p.supply[b] * (1 + 1e-12)]),
        )

    def moved(self) -> Schedule:
        for kind, i in self._backwards():
            if kind == "task":
                self._move_task(i)
            else:
                self._move_transfer(i)
        s, row = self.rows.schedule, self.rows.unit
        columns = {name: getattr(s, name) for name in _SAME}
        return Schedule.from_columns(
            s.task_names,
            s.worker_names,
            start=self.start[row],
            end=self.end[row],
            transfer_start=self.sent,
            transfer_encoded=self.encoded,
            transfer_end=self.arrived,
            **columns,
        )

    def _backwards(self) -> list[tuple[str, int]]:
        """Tasks and transfers, what follows before what it follows."""
        n = self.problem.n_tasks
        depth = np.empty(n)
        depth[self.problem.topological] = np.arange(n)
        turn = np.concatenate([depth, depth[self.rows.sent] + 0.5])
        order = np.lexsort((turn, np.concatenate([self.start, self.sent])))[::-1]
        return [("task", i) if i < n else ("move", i - n) for i in order.tolist()]

    def _move_task(self, u: int) -> None:
        p, b = self.problem, int(self.worker[u])
        latest = min(self.until[b], self.latest_end[u])
        after = p.out_task[p.out_ptr[u] : p.out_ptr[u + 1]]
        near = after[self.worker[after] == b]
        latest = min(latest, float(self.start[near].min(initial=np.inf)))
        for x in self.transfers.get(u, ()):
            latest = min(latest, self.sent[x])
        gain = self.busy[b].delay(("task", u), latest, self.eps)
        self.start[u] += gain
        self.end[u] += gain

    def _move_transfer(self, x: int) -> None:
        p, u = self.problem, int(self.rows.sent[x])
        a, b = int(self.rows.source[x]), int(self.rows.destination[x])
        way = self.arrived[x] - self.encoded[x]
        latest = min(self.until[a], self.until[b]) - way
        for k in range(p.out_ptr[u], p.out_ptr[u + 1]):
            consumer = p.out_task[k]
            if self.worker[consumer] == b:
                needed = p.latency[a, b] + p.out_bytes[k] * p.per_byte[a, b]
                latest = min(latest, self.start[consumer] - needed)
        gain = self.busy[a].delay(("move", x), latest, self.eps)
        self.sent[x] += gain
        self.encoded[x] += gain
        self.arrived[x] += gain


_SAME = (
    "task",
    "instance",
    "worker",
    "mode",
    "transfer_task",
    "transfer_instance",
    "transfer_source",
    "transfer_destination",
    "transfer_nbytes",
)
"""Columns that stay."""
