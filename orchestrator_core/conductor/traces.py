"""What is known of one function, by the shapes, types and constants of its calls."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from orchestrator_core.conductor.given import STAGES, Given
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.planning.planner import Planner
from orchestrator_core.conductor.program import Program
from orchestrator_core.conductor.traced import Traced, trace

MOST_TRACED = 128
"""Combinations of shapes, types and constants of one function that are remembered."""

MOST_CONSTANTS = 16
"""Python numbers in the same place, or states of the same objects: a function that needs more of
them as constants would be compiled again and again."""

NOT_COMPARABLE = "an argument is neither an array nor can it be compared from call to call"
CHANGING = "numbers or attributes that it needs as constants change from call to call"


class Traces:
    """The traces of a function, those used longest ago forgotten. Threads may share them."""

    def __init__(self, original: Callable[..., Any], goal: Goal, planner: Planner) -> None:
        self._original, self._goal, self._planner = original, goal, planner
        self._lock = threading.Lock()
        self._known: OrderedDict[Any, Traced] = OrderedDict()
        self._stages: OrderedDict[Any, int] = OrderedDict()
        self._variants: OrderedDict[Any, int] = OrderedDict()

    @property
    def programs(self) -> list[Program]:
        """Those that were made until now."""
        with self._lock:
            return [known.program for known in self._known.values() if known.program]

    def of(self, args: Any, kwargs: Any) -> tuple[Given, Traced]:
        """What is known for these arguments. Of Python numbers, as many types are taken as
        constants as it takes to trace it."""
        plain = given = Given(args, kwargs)
        first = self._stages.get(plain.place, 0) if plain.key is not None else 0
        traced: Traced | None = None
        for stage in range(first, len(STAGES)):
            given = Given(args, kwargs, STAGES[stage]) if stage else plain
            if stage > first and len(given.arrays) == len(plain.arrays):
                continue
            traced = self._known_or_new(plain, given)
            if traced.program is not None:
                self._remember_stage(plain, stage)
                return given, traced
        assert traced is not None
        return given, traced

    def _known_or_new(self, plain: Given, given: Given) -> Traced:
        if given.key is None:
            return Traced(None, NOT_COMPARABLE)
        with self._lock:
            if given.key in self._known:
                self._known.move_to_end(given.key)
                return self._known[given.key]
        if self._variants.get(plain.place, 0) > MOST_CONSTANTS:
            return Traced(None, CHANGING)
        traced = trace(self._original, given, self._goal, self._planner)
        return traced if traced.is_of_this_trace else self._kept(plain, given, traced)

    def _kept(self, plain: Given, given: Given, traced: Traced) -> Traced:
        """That of whichever thread was first."""
        with self._lock:
            self._known.setdefault(given.key, traced)
            if given is not plain or plain.place != plain.key:
                self._variants[plain.place] = self._variants.pop(plain.place, 0) + 1
            _forget_oldest(self._known)
            _forget_oldest(self._variants)
            return self._known.get(given.key, traced)

    def _remember_stage(self, plain: Given, stage: int) -> None:
        if stage:
            with self._lock:
                self._stages[plain.place] = stage
                _forget_oldest(self._stages)


def _forget_oldest(recent: OrderedDict[Any, Any]) -> None:
    while len(recent) > MOST_TRACED:
        recent.popitem(last=False)
