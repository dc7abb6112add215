"""EventLoop: workers that run what a policy gives them, moment by moment.

A worker fetches the inputs that it lacks as soon as it is given a task, encodes what others fetch
before it begins new tasks, and begins tasks by priority once their inputs are there and threads and
resources are free. Which task goes where is the policy's affair.
"""

from __future__ import annotations

import heapq

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.policy import Policy
from orchestrator_core.execute.simulate.units import Units
from orchestrator_core.graph.task_graph import Floats

_END, _ENCODED, _ARRIVAL, _RELEASE, _WAKE = range(5)


class EventLoop:
    """The state of a simulated cluster.

    Attributes:
        now: seconds. The durations are those of `seconds`, or else of the instance.
        priority: (u,) smallest first. mode: (u,) position among all modes.
        worker: (u,) where it was given to, or -1. started: (u,) has it begun?
        start, end: (u,) seconds. inputs_left: (u,) inputs that are not done.
        size: (tasks,) bytes of an output.
        transfers: (start, encoded, end) in seconds, by the (unit, destination) of each.
    """

    def __init__(
        self,
        instance: Instance,
        units: Units,
        mode: list[int],
        priority: list[int],
        seconds: Floats | None = None,
    ) -> None:
        graph, cluster = instance.graph, instance.cluster
        u, w = len(units), len(cluster)
        self.instance, self.units, self.priority = instance, units, priority
        self.now = 0.0
        self.mode = mode
        self.worker, self.started = [-1] * u, [False] * u
        self.start, self.end = [0.0] * u, [0.0] * u
        table = instance.seconds if seconds is None else seconds
        self._seconds: list[list[float]] = table.tolist()
        self._mode_threads: list[int] = graph.mode_threads.tolist()
        of_demand = [dict(demand.resources) for demand in graph.demands]
        self._needs = [of_demand[demand] for demand in graph.demand_of.tolist()]
        self.size: list[float] = graph.output_bytes.tolist()
        self._release: list[float] = graph.release.tolist()
        self._latency = cluster.latency.tolist()
        self._per_byte = cluster.seconds_per_byte.tolist()
        self._encode = cluster.encode_seconds_per_byte.tolist()
        self._threads = [worker.threads for worker in cluster.workers]
        self._resources = [dict(worker.resources) for worker in cluster.workers]
        self.inputs_left = [len(inputs) for inputs in units.inputs]
        # How many inputs are not yet where the unit was given to, and how often it was given.
        self._missing, self._times_given = [0] * u, [0] * u
        self._present: set[tuple[int, int]] = set()
        self._waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.transfers: dict[tuple[int, int], tuple[float, float, float]] = {}
        self._line: list[list[tuple[int, int, int]]] = [[] for _ in range(w)]
        self._awake: set[int] = set()
        self._events: list[tuple[float, int, int, int, int]] = []
        self._serial = 0

    # ------------------------------------------------------------------ what a policy may call

    def give(self, unit: int, worker: int) -> None:
        """The worker is to run the unit; it fetches what it lacks."""
        self.worker[unit] = worker
        self._times_given[unit] += 1
        missing = 0
        for producer, _ in self.units.inputs[unit]:
            place = (producer, worker)
            if place not in self._present:
                missing += 1
                self._waiting.setdefault(place, []).append((unit, self._times_given[unit]))
                self._fetch(producer, worker)
        self._missing[unit] = missing
        if not missing:
            self._line_up(unit)

    def send_ahead(self, unit: int, worker: int) -> None:
        """The worker fetches the output of the unit, which has ended, before it needs it."""
        if worker != self.worker[unit]:
            self._fetch(unit, worker)

    def take_back(self, unit: int) -> None:
        """The worker is not to run the unit, which has not started."""
        self.worker[unit] = -1
        self._times_given[unit] += 1

    def wake(self, moment: float) -> None:
        """Call `settle` at that moment too."""
        self._at(moment, _WAKE, 0, 0)

    # ------------------------------------------------------------------------------ the loop

    @property
    def makespan(self) -> float:
        """When the last unit ended, seconds."""
        return max(self.end, default=0.0)

    def run(self, policy: Policy) -> None:
        """Run everything; `outcome.schedule_of` says what came about."""
        for unit in sorted(range(len(self.units)), key=self.priority.__getitem__):
            if not self.inputs_left[unit]:
                self._released(unit, policy)
        self._settle(policy)
        while self._events:
            self.now = self._events[0][0]
            self._settle(policy)

    def _settle(self, policy: Policy) -> None:
        """Let all happen that happens now, then begin what fits."""
        while True:
            while self._events and self._events[0][0] == self.now:
                self._happens(heapq.heappop(self._events), policy)
            policy.settle()
            # What was sent just now may be there at once.
            if not self._events or self._events[0][0] > self.now:
                break
        self._begin_what_fits()

    def _happens(self, event: tuple[float, int, int, int, int], policy: Policy) -> None:
        _, _, what, unit, worker = event
        if what == _END:
            self._ended(unit, policy)
        elif what == _ENCODED:
            self._threads[self.worker[unit]] += 1
            self._awake.add(self.worker[unit])
        elif what == _ARRIVAL:
            policy.arrived(unit, worker)
            self._there(unit, worker)
        elif what == _RELEASE:
            policy.ready(unit)

    def _ended(self, unit: int, policy: Policy) -> None:
        worker, mode = self.worker[unit], self.mode[unit]
        self._threads[worker] += self._mode_threads[mode]
        for name, amount in self._needs[mode].items():
            self._resources[worker][name] += amount
        self._awake.add(worker)
        policy.done(unit)
        self._there(unit, worker)
        freed = []
        for consumer in self.units.consumers[unit]:
            self.inputs_left[consumer] -= 1
            if not self.inputs_left[consumer]:
                freed.append(consumer)
        for consumer in sorted(freed, key=self.priority.__getitem__):
            self._released(consumer, policy)

    def _released(self, unit: int, policy: Policy) -> None:
        release = self._release[self.units.task[unit]]
        if release > self.now:
            self._at(release, _RELEASE, unit, 0)
        else:
            policy.ready(unit)

    # ------------------------------------------------------------------------- the workers

    def _there(self, unit: int, worker: int) -> None:
        """The unit's output is on the worker: count it for those who wait for it."""
        self._present.add((unit, worker))
        for waiting, times in self._waiting.pop((unit, worker), ()):
            if times == self._times_given[waiting]:
                self._missing[waiting] -= 1
                if not self._missing[waiting]:
                    self._line_up(waiting)

    def _line_up(self, unit: int) -> None:
        worker = self.worker[unit]
        heapq.heappush(self._line[worker], (self.priority[unit], unit, self._times_given[unit]))
        self._awake.add(worker)

    def _fetch(self, unit: int, worker: int) -> None:
        """Send the unit's output to the worker, from where it was made."""
        if (unit, worker) in self.transfers:
            return
        self.transfers[unit, worker] = (0.0, 0.0, 0.0)
        source = self.worker[unit]
        if self.size[self.units.task[unit]] * self._encode[source][worker] > 0:
            heapq.heappush(self._line[source], (-1, unit, worker))
            self._awake.add(source)
        else:
            self._send(unit, worker, 0.0)

    def _send(self, unit: int, worker: int, encoding: float) -> None:
        source, size = self.worker[unit], self.size[self.units.task[unit]]
        encoded = self.now + encoding
        arrival = encoded + self._latency[source][worker] + size * self._per_byte[source][worker]
        self.transfers[unit, worker] = (self.now, encoded, arrival)
        self._at(arrival, _ARRIVAL, unit, worker)

    def _begin_what_fits(self) -> None:
        for worker in sorted(self._awake):
            line = self._line[worker]
            while line and self._begin(worker, line[0]):
                heapq.heappop(line)
        self._awake.clear()

    def _begin(self, worker: int, first: tuple[int, int, int]) -> bool:
        """Begin the first in a worker's line; False if it does not fit yet."""
        priority, unit, number = first
        if priority < 0:
            return self._begin_encoding(worker, unit, number)
        if number != self._times_given[unit]:
            return True  # it was taken back
        mode = self.mode[unit]
        free, needs = self._resources[worker], self._needs[mode]
        if self._threads[worker] < self._mode_threads[mode] or any(
            free[name] + 1e-9 < amount for name, amount in needs.items()
        ):
            return False
        self._threads[worker] -= self._mode_threads[mode]
        for name, amount in needs.items():
            free[name] -= amount
        self.started[unit], self.start[unit] = True, self.now
        self.end[unit] = self.now + self._seconds[mode][worker]
        self._at(self.end[unit], _END, unit, worker)
        return True

    def _begin_encoding(self, worker: int, unit: int, destination: int) -> bool:
        if self._threads[worker] < 1:
            return False
        size = self.size[self.units.task[unit]]
        seconds = size * self._encode[worker][destination]
        self._threads[worker] -= 1
        self._send(unit, destination, seconds)
        self._at(self.now + seconds, _ENCODED, unit, destination)
        return True

    def _at(self, moment: float, what: int, unit: int, worker: int) -> None:
        self._serial += 1
        heapq.heappush(self._events, (moment, self._serial, what, unit, worker))
