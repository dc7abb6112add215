"""Ahead: a conducted function, compiled before it runs, so that what that takes can be told apart.

Each combination of shapes, types and constants is traced, planned and compiled once for each
device; whoever asks for it meanwhile waits.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import jax

from orchestrator_core.conductor.conducted import Conducted
from orchestrator_core.conductor.explaining.words import SIZES, TIMES, amount
from orchestrator_core.conductor.given import Given
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.traced import Traced

MOST_READY = 128
"""Compiled combinations of one function that are kept; of more, the longest unused goes."""


class Ready:
    """What is known of a function for arguments like some that it was prepared for.

    Attributes:
        reason: why the function runs as it was; empty if it is conducted.
        sites, changed: how many sites were found, and how many of them run in another form.
        origin: who decided, as in `Planned`.
        argument_bytes: of the arguments on the device. extra_bytes: of results and temporary
            values beside them, as XLA counts them. Both 0 where it is not compiled.
    """

    def __init__(self, reason: str, traced: Traced | None = None, compiled: Any = None) -> None:
        self.reason, self._traced, self._compiled = reason, traced, compiled
        self.sites = self.changed = self.argument_bytes = self.extra_bytes = 0
        self.origin = ""
        if traced is not None and traced.program is not None and not reason:
            planned = traced.program.planned
            self.sites, self.origin = len(planned.sites), planned.origin
            self.changed = sum(site.is_changed for site in planned.sites)
        memory = None if compiled is None else compiled.memory_analysis()
        if memory is not None:
            self.argument_bytes = int(memory.argument_size_in_bytes)
            made = memory.output_size_in_bytes + memory.temp_size_in_bytes
            self.extra_bytes = int(made - memory.alias_size_in_bytes)

    @property
    def is_compiled(self) -> bool:
        return self._compiled is not None

    def __str__(self) -> str:
        """What was done about the function, in one line."""
        if self.reason:
            return f"runs as it is: {self.reason}"
        done = f"{self.changed} of {self.sites} sites in another form ({self.origin})"
        return f"{done}; {amount(self.extra_bytes, SIZES)} beside the arguments"

    def __call__(self, arrays: list[Any]) -> Any:
        """What the function returns for the arrays among its arguments."""
        assert self._traced is not None
        return self._traced.whole(self._compiled(*arrays))


class Prepared:
    """A function and the arguments of one call.

    Attributes:
        ready: what is known of it. is_new: was that found out now?
        seconds: that it took; next to nothing where it was known.
    """

    def __init__(self, run: Callable[[], Any], ready: Ready, is_new: bool, seconds: float) -> None:
        self._run, self.ready, self.is_new, self.seconds = run, ready, is_new, seconds

    def __str__(self) -> str:
        """What was done about the function, and how long that took, in one line."""
        return f"{self.ready}; ready after {amount(self.seconds, TIMES)}"

    def __call__(self) -> Any:
        """What the function returns, once it is computed."""
        wait: Any = jax.block_until_ready
        return wait(self._run())


class Ahead:
    """A function that is conducted and compiled before it runs. Threads may share it.

    No argument is ever donated, whatever the function says: who called may need it once more.

    Args:
        clock: seconds that only grow.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        goal: Goal,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.conducted: Conducted[Any, Any] = Conducted(function, goal)
        self.compiled = 0
        """So many combinations were compiled so far."""
        self._clock = clock
        self._lock = threading.Lock()
        self._ready: OrderedDict[Any, Ready] = OrderedDict()

    def prepare(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], device: Any = None
    ) -> Prepared:
        """Trace, plan and compile the function for arguments like these, unless that was done.

        Args:
            device: of JAX, on which it is to run; None for where JAX puts it.
        """
        begun = self._clock()
        with _on(device):
            given, traced = self.conducted.traced(args, kwargs)
            ready, is_new = self._known_or_new(given, traced, device)

        def run() -> Any:
            with _on(device):
                if ready.is_compiled:
                    return ready(given.arrays)
                return self.conducted.original(*args, **kwargs)

        return Prepared(run, ready, is_new, self._clock() - begun)

    def _known_or_new(self, given: Given, traced: Traced, device: Any) -> tuple[Ready, bool]:
        if traced.program is None:
            return Ready(traced.reason), False
        key = (traced, device, tuple(map(_place, given.arrays)))
        with self._lock:
            known = self._ready.get(key)
            ready = self._ready[key] = known or self._new(given, traced)
            self._ready.move_to_end(key)
            while len(self._ready) > MOST_READY:
                self._ready.popitem(last=False)
        return ready, known is None

    def _new(self, given: Given, traced: Traced) -> Ready:
        self.compiled += 1
        try:
            return Ready(traced.reason, traced, traced.compile(given.arrays))
        except Exception as error:  # whatever it is, the original will say it better
            return Ready(f"it could not be prepared: {type(error).__name__}: {_first_line(error)}")


def _place(array: Any) -> Any:
    """Where an array has to stay; None if JAX may move it."""
    return array.sharding if getattr(array, "committed", False) else None


def _on(device: Any) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if device is None else jax.default_device(device)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
