"""The rest of a run as an instance of its own, so that `check_schedule` can judge a repair.

The instance has what is waiting, what is running and each output that these use:

- an output that some worker holds is a task without length on that worker, when it is first sent,
  or at `now`;
- a running task may run only where it runs, is released at `now` and takes what it still takes;
- a waiting task is as ever, but not released before `now`; lost workers can run nothing; a paused
  task takes what is left of it, and may run only where it is;
- a thread that somebody else has is a task of its own, which runs where that is from `now` on;
- copies at other workers are transfers in a *prologue*, the seconds before `now` in which nothing
  else happens: they arrive at `now`; but what has to be encoded goes one after the other from the
  beginning, so that it disturbs nobody;
- transfers on their way keep their times; the stock lacks what was taken.

The instance's clock is shifted, so that the prologue begins at 0. A schedule of the rest is valid
if `check_schedule` passes it and no transfer begins before `now` but those that have begun. What a
run that came to nothing had taken from the stock is given back. Where the workers are known to be
overcrowded at `now`, they are taken to be as large as that. Deadlines that the repair says it
misses are lifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Demand, Floats, Ints, TaskGraph
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.remainder_cluster import cluster_of_rest
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING, Placement, Sends
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Remainder:
    """The rest of a run: an instance, a schedule of it, and when `now` is on its clock."""

    instance: Instance
    schedule: Schedule
    now: float
    units: Ints


def remainder_of(
    basis: Basis, remains: Remains, placed: Placement, sends: Sends, missed: Sequence[int] = ()
) -> Remainder:
    """The rest, with this placement and these new transfers as its schedule."""
    return _Maker(basis, remains, placed, sends, frozenset(missed)).make()


class _Maker:
    """Builds the parts of a remainder."""

    def __init__(
        self,
        basis: Basis,
        remains: Remains,
        placed: Placement,
        sends: Sends,
        missed: frozenset[int],
    ) -> None:
        self.basis, self.remains, self.rest = basis, remains, remains.rest
        self.placed, self.sends, self.missed = placed, sends, missed
        self.units = self._chosen()
        self.at = np.full(basis.problem.n_tasks, -1, dtype=np.int64)
        self.at[self.units] = np.arange(len(self.units))
        self.recorded, self.now = self._recorded()
        self.shift = self.now - self.rest.now

    def make(self) -> Remainder:
        instance = Instance(
            self._graph(), cluster_of_rest(self.basis, self.remains), self._seconds()
        )
        return Remainder(instance, self._schedule(instance), self.now, self.units)

    def _chosen(self) -> Ints:
        p, status = self.basis.problem, self.rest.status
        consumer = np.repeat(np.arange(p.n_tasks), np.diff(p.in_ptr))
        chosen = (status == WAITING) | (status == RUNNING)
        chosen[p.in_task[chosen[consumer] & (self.rest.home[p.in_task] >= 0)]] = True
        return np.flatnonzero(chosen)

    def _recorded(self) -> tuple[Sends, float]:
        """Transfers of copies on the new clock, and when `now` is on it."""
        p, r, sends = self.basis.problem, self.rest, self.remains.sends
        flying = (sends.arrived > r.now) & (self.at[sends.unit] >= 0)
        flying &= r.home[sends.unit] == sends.source
        since = r.now - sends.sent[flying]
        rows, clock, last = [], 0.0, 0.0
        for unit in self.units[r.status[self.units] == ENDED].tolist():
            home = int(r.home[unit])
            for b in np.flatnonzero(r.present[unit] <= r.now).tolist():
                if b != home:
                    nbytes = float(p.output_bytes[unit])
                    encoded = clock + nbytes * float(p.encode[home, b])
                    way = float(p.latency[home, b] + nbytes * p.per_byte[home, b])
                    rows.append((unit, home, b, clock, encoded, encoded + way))
                    clock, last = encoded, max(last, encoded + way)
        now = max(last, clock) + float(since.max(initial=0.0))
        shift = now - r.now
        early = np.array(rows, dtype=np.float64).reshape(-1, 6)
        whole = early[:, 3] == early[:, 4]  # nothing to encode
        early[whole, 3:] += (now - early[whole, 5])[:, None]
        late = sends.chosen(flying)
        times = (late.sent, late.encoded, late.arrived)
        return Sends(
            np.concatenate([early[:, 0].astype(np.int64), late.unit]),
            np.concatenate([early[:, 1].astype(np.int64), late.source]),
            np.concatenate([early[:, 2].astype(np.int64), late.destination]),
            *(
                np.concatenate([early[:, 3 + i], np.maximum(0.0, column + shift)])
                for i, column in enumerate(times)
            ),
        ), now

    def _busy(self, unit: int) -> float:
        """Seconds that a task which is to pause still runs before."""
        return max(0.0, float(self.rest.busy_until[unit]) - self.rest.now)

    def _graph(self) -> TaskGraph:
        p, r, graph = self.basis.problem, self.rest, self.basis.instance.graph
        consumer = np.repeat(np.arange(p.n_tasks), np.diff(p.in_ptr))
        used = (self.at[consumer] >= 0) & (r.status[consumer] != ENDED)
        # What runs has got what it needs, even if that is gone, or is being made again for others.
        running = r.status[consumer] == RUNNING
        here = r.present[p.in_task, np.where(running, r.worker[consumer], 0)] <= r.now
        used &= ~running | (here & (r.status[p.in_task] == ENDED))
        per_unit = [self._modes(unit) for unit in self.units.tolist()]
        modes = [mode for row in per_unit for mode in row]
        waiting = r.status[self.units] == WAITING
        busy = np.array([self._busy(unit) for unit in self.units.tolist()])
        release = np.maximum(self.rest.now, p.release[self.units]) + self.shift
        release[busy > 0] = self.now
        lifted = np.isin(self.units, list(self.missed)) | ~waiting
        running = r.status[self.units] == RUNNING
        release = np.where(waiting, release, np.where(running, self.now, 0.0))
        deadline = np.where(lifted, np.inf, p.deadline[self.units] + self.shift)
        taken = r.taken.tolist()
        modes += [(-1, worker) for worker in taken]
        return TaskGraph.from_columns(
            self._names(),
            output_bytes=self._with_taken(p.output_bytes[self.units], 0.0),
            release=self._with_taken(release, self.now),
            deadline=self._with_taken(deadline, np.inf),
            checkpoints=[
                *(self._checkpoints(unit) for unit in self.units.tolist()),
                *[()] * len(taken),
            ],
            mode_count=[*(len(row) for row in per_unit), *[1] * len(taken)],
            threads=[int(p.threads[m]) if m >= 0 else 1 for m, _ in modes],
            memory=[float(p.memory[m]) if m >= 0 else 0.0 for m, _ in modes],
            demands=[
                _demand(graph.demand(m) if m >= 0 else Demand(), worker, self.basis)
                for m, worker in modes
            ],
            producer=self.at[p.in_task[used]],
            consumer=self.at[consumer[used]],
            nbytes=p.in_bytes[used],
        )

    def _modes(self, unit: int) -> list[tuple[int, int]]:
        """(mode of the instance or -1, the only worker or -1) of each mode of the unit."""
        r, p = self.rest, self.basis.problem
        if r.status[unit] == ENDED:
            return [(-1, int(r.home[unit]))]
        if r.status[unit] == RUNNING:
            return [(int(r.mode[unit]), int(r.worker[unit]))]
        if r.left[unit] >= 0:
            return [(int(r.mode[unit]), int(r.pinned[unit]))]
        return [(m, -1) for m in range(p.mode_begin[unit], p.mode_end[unit])]

    def _names(self) -> list[str]:
        p, graph = self.basis.problem, self.basis.instance.graph
        names = [
            graph.names[p.task[u]] + (f"[{p.instance[u]}]" if graph.count[p.task[u]] > 1 else "")
            for u in self.units.tolist()
        ]
        names += [f"somebody else's {number}" for number in range(len(self.rest.taken))]
        return names if len(set(names)) == len(names) else [str(i) for i in range(len(names))]

    def _with_taken(self, column: Floats, value: float) -> Floats:
        """A column of the units, and the same value for each thread that somebody else has."""
        return np.concatenate([column, np.full(len(self.rest.taken), value)])

    def _checkpoints(self, unit: int) -> tuple[float, ...]:
        """Where a running task is to pause; what is waiting keeps its own, unless it has begun."""
        r, graph = self.rest, self.basis.instance.graph
        if r.status[unit] == WAITING and r.left[unit] < 0:
            return graph.checkpoints(int(self.basis.problem.task[unit]))
        busy = self._busy(unit)
        if r.status[unit] == WAITING and busy > 0:
            return (busy / (busy + float(r.left[unit])),)
        return ()

    def _seconds(self) -> Floats:
        r, p, rows = self.rest, self.basis.problem, []
        for unit in self.units.tolist():
            for m, worker in self._modes(unit):
                row = np.full(p.n_workers, np.inf)
                if worker < 0:
                    row[r.alive] = p.seconds[m, r.alive]
                elif r.status[unit] == ENDED:
                    row[worker] = 0.0
                elif r.status[unit] == RUNNING:
                    row[worker] = max(0.0, float(r.end[unit]) - r.now)
                else:
                    row[worker] = self._busy(unit) + float(r.left[unit])
                rows.append(row)
        for worker, left in zip(r.taken.tolist(), (r.taken_until - r.now).tolist(), strict=True):
            rows.append(np.where(np.arange(p.n_workers) == worker, left, np.inf))
        return np.array(rows).reshape(-1, p.n_workers)

    def _schedule(self, instance: Instance) -> Schedule:
        p, r, units, shift = self.basis.problem, self.rest, self.units, self.shift
        status = r.status[units]
        waiting, running = status == WAITING, status == RUNNING
        made = np.full(len(units), self.now)
        np.minimum.at(made, self.at[self.recorded.unit], self.recorded.sent)
        start = np.where(waiting, self.placed.start[units] + shift, made)
        end = np.where(waiting, self.placed.end[units] + shift, made)
        start[running] = self.now
        end[running] = np.maximum(r.end[units[running]], r.now) + shift
        worker = np.where(waiting, self.placed.worker[units], r.home[units])
        whole = waiting & (r.left[units] < 0)
        mode = np.where(whole, self.placed.mode[units] - p.mode_begin[units], 0)
        segments = {}
        for i in np.flatnonzero(r.busy_until[units] > r.now).tolist():
            stop = self.now + self._busy(int(units[i]))
            if start[i] > stop:
                segments[i] = ((self.now, stop), (float(start[i]), float(end[i])))
            start[i] = self.now
        sends = self.sends
        unit = np.concatenate([self.recorded.unit, sends.unit])
        both = {
            name: np.concatenate([getattr(self.recorded, name), getattr(sends, name) + shift])
            for name in ("sent", "encoded", "arrived")
        }
        return Schedule.from_columns(
            instance.graph.names,
            instance.cluster.names,
            segments=segments,
            task=np.arange(len(units) + len(r.taken)),
            worker=np.concatenate([worker, r.taken]),
            mode=np.concatenate([mode, np.zeros_like(r.taken)]),
            start=self._with_taken(start, self.now),
            end=np.concatenate([end, r.taken_until + shift]),
            transfer_task=self.at[unit],
            transfer_source=np.concatenate([self.recorded.source, sends.source]),
            transfer_destination=np.concatenate([self.recorded.destination, sends.destination]),
            transfer_start=both["sent"],
            transfer_encoded=both["encoded"],
            transfer_end=both["arrived"],
            transfer_nbytes=p.output_bytes[unit],
        )


def _demand(demand: Demand, worker: int, basis: Basis) -> Demand:
    """The demand of a mode; where it has begun, on its worker alone and with nothing to consume."""
    if worker < 0:
        return demand
    name = basis.instance.cluster.names[worker]
    return Demand(name=demand.name, resources=demand.resources, eligible=(name,))
