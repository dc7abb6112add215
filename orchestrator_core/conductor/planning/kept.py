"""Rewritten programs that earlier processes have left, with what was decided of them.

A file for each trace, goal, device and build: one line of JSON, the plan, then the program as JAX
has lowered it. It is found by all that the trace says (`lasting`), constants and settings too, so
that nothing has to be derived again. Graphs that only look the same have decisions (`disk`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.fingerprint import Fingerprint
from orchestrator_core.conductor.ir.lasting import Nameless, lasting
from orchestrator_core.conductor.planning.folder import file_for, write
from orchestrator_core.conductor.planning.text import decisions, plan_of
from orchestrator_core.conductor.site import Site
from orchestrator_core.errors import InvalidFormat

ENDING = "program"
MOST_BYTES = 2**25
"""Larger ones are not kept."""


@dataclass(eq=False)
class Kept:
    """A program, as it is or will be on disk. Threads may share it.

    Attributes:
        file: where. goal, signature, sites: its plan. settings: of JAX, when it was traced.
        module: as JAX lowered it; None if it was not lowered yet, or where nothing was changed.
    """

    file: Path
    goal: Goal
    settings: str
    signature: str = ""
    sites: tuple[Site, ...] = ()
    module: bytes | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _is_tried: bool = False

    def lowered(self, make: Callable[[], bytes]) -> bytes | None:
        """The module; made now, and left to others, if it never was. None where it cannot be."""
        if _jax.written_settings() != self.settings:
            return None
        with self._lock:
            if self.module is None and not self._is_tried:
                self._is_tried = True
                with contextlib.suppress(Exception):  # whatever it is, it is lowered as ever then
                    self.module = make()
                    self.write()
            return self.module

    def write(self) -> None:
        """Leaves it to others."""
        module = self.module or b""
        if len(module) > MOST_BYTES:
            return
        plan = plan_of("", self.goal, [("", self.signature, self.sites)])
        head = {"plan": plan, "module": _digest(module)}
        with contextlib.suppress(TypeError):
            write(self.file, json.dumps(head).encode() + b"\n" + module)

    def read(self) -> bool:
        """Takes over what others have left. Is there anything?"""
        try:
            head, _, module = self.file.read_bytes().partition(b"\n")
            found = json.loads(head)
            ((signature, sites),) = decisions(found["plan"]).items()
            if found["module"] != _digest(module):
                return False
        except (OSError, ValueError, KeyError, TypeError, InvalidFormat):
            return False
        self.signature, self.sites, self.module = signature, sites, module or None
        return True


def place_for(
    trace: Fingerprint, goal: Goal, rewrites: tuple[tuple[str, str], ...], device: Device
) -> Kept | None:
    """Where the program of a trace is kept; None if it cannot be.

    Args:
        rewrites: what is tried. device: what it is priced for.
    """
    settings = _jax.written_settings()
    if goal.check != "none" or goal.pinned is not None or not settings:
        return None
    try:
        name = lasting(trace)
    except Nameless:
        return None
    about = repr((name, settings, rewrites, device))
    file = file_for(_digest(about.encode()), goal, ENDING)
    return None if file is None else Kept(file, goal, settings)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
