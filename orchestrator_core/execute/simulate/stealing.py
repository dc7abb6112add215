"""Work stealing, as distributed's `WorkStealing.balance` does it: who takes what from whom.

Coarser than the original: a move takes no time and is never refused, since only tasks that have
not started are moved.
"""

from __future__ import annotations

import math
from typing import Protocol

from orchestrator_core.execute.simulate.event_loop import EventLoop
from orchestrator_core.execute.simulate.units import Units

INTERVAL = 0.1
"""distributed.scheduler.work-stealing-interval, seconds"""

LATENCY = 0.1
"""Seconds that a move is believed to cost beside its bytes."""

LEVELS = 15
"""Tasks are stolen by classes of what a move costs over what they compute; above, never."""

TRIES = 16
"""Tasks of one victim and one class that are refused before the rest of them is passed by."""


class Policy(Protocol):
    """What stealing sees of the scheduler."""

    units: Units
    loop: EventLoop
    workers: list[int]
    threads: list[int]
    seconds: list[float]
    size: list[float]
    seconds_per_byte: float
    occupancy: list[float]
    processing: list[dict[int, None]]
    allowed: list[set[int] | None]

    def fetch_seconds(self, unit: int, worker: int) -> float: ...
    def objective(self, unit: int, worker: int) -> tuple[float, float, int]: ...
    def move(self, unit: int, thief: int) -> None: ...


class Stealing:
    """Idle workers take tasks that have not started from saturated ones."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.last = -math.inf
        self.levels = [self._level(unit) for unit in range(len(policy.units))]

    def balance_if_due(self) -> None:
        """Balance at most once in each interval; else ask to be called again."""
        p = self.policy
        if all(len(given) <= t for given, t in zip(p.processing, p.threads, strict=True)):
            return
        if p.loop.now < self.last + INTERVAL:
            p.loop.wake(self.last + INTERVAL)
            return
        self.last = p.loop.now
        self._balance()

    def _balance(self) -> None:
        p = self.policy
        mean = sum(p.occupancy) / sum(p.threads)
        thieves = [worker for worker in p.workers if self._unoccupied(worker, mean)]
        if not thieves or len(thieves) == len(p.workers):
            return
        for victim_tasks in self._stealable(thieves, mean):
            refused = 0
            for victim, unit in victim_tasks:
                if not thieves or refused >= TRIES:
                    break
                thief = self._thief(unit, thieves)
                if thief is None or not self._pays(unit, victim, thief):
                    refused += 1
                    continue
                p.move(unit, thief)
                if not self._unoccupied(thief, mean):
                    thieves.remove(thief)

    def _stealable(self, thieves: list[int], mean: float) -> list[list[tuple[int, int]]]:
        """(victim, unit) lists, cheapest class first, fullest victim first within it."""
        p = self.policy
        victims = [worker for worker in p.workers if self._saturated(worker, mean)] or [
            worker
            for worker in p.workers
            if p.occupancy[worker] > 0.2
            and len(p.processing[worker]) > p.threads[worker]
            and worker not in thieves
        ]
        victims.sort(key=lambda worker: -p.occupancy[worker])
        classes: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for place, victim in enumerate(victims):
            # Last given, last in line: those are stolen first.
            for unit in reversed(p.processing[victim]):
                level = self.levels[unit]
                if level is not None and not p.loop.started[unit]:
                    classes.setdefault((level, place), []).append((victim, unit))
        return [classes[key] for key in sorted(classes)]

    def _pays(self, unit: int, victim: int, thief: int) -> bool:
        p = self.policy
        compute = p.seconds[unit]
        there = p.occupancy[thief] + p.fetch_seconds(unit, thief) + compute
        return there <= p.occupancy[victim] - (p.fetch_seconds(unit, victim) + compute) / 2

    def _thief(self, unit: int, thieves: list[int]) -> int | None:
        allowed = self.policy.allowed[unit]
        able = thieves if allowed is None else [worker for worker in thieves if worker in allowed]
        if not able:
            return None
        return min(able, key=lambda worker: self.policy.objective(unit, worker))

    def _unoccupied(self, worker: int, mean: float) -> bool:
        """`is_unoccupied`: fewer tasks than threads, or half of the mean occupancy."""
        p = self.policy
        threads = p.threads[worker]
        return len(p.processing[worker]) < threads or p.occupancy[worker] < threads * mean / 2

    def _saturated(self, worker: int, mean: float) -> bool:
        """`check_idle_saturated`: more tasks than threads, and far more waiting than the mean."""
        p = self.policy
        given, threads = len(p.processing[worker]), p.threads[worker]
        if given <= threads or self._unoccupied(worker, mean):
            return False
        pending = p.occupancy[worker] * (given - threads) / (given * threads)
        return pending > 0.4 and pending > 1.9 * mean

    def _level(self, unit: int) -> int | None:
        """`steal_time_ratio`: 0 without inputs, None where a move is never worth it."""
        p = self.policy
        inputs = p.units.inputs[unit]
        if not inputs:
            return 0
        if not p.seconds[unit]:
            return None
        nbytes = sum(p.size[producer] for producer, _ in inputs)
        ratio = (nbytes * p.seconds_per_byte + LATENCY) / p.seconds[unit]
        level = max(1, round(math.log2(ratio) + 6))
        return level if level < LEVELS else None
