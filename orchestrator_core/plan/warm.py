"""Compiled code ahead of time: what a machine has, and how it gets the rest (stage 3).

Compiling everything that plans takes a machine two to three minutes, once; loading it takes a
process about two seconds. `warm_up` does both and waits. A plan that meets a machine without the
code does not wait: a process in the background compiles it, part after part, while the planner asks
only those whose part is there, and interprets the one that it cannot do without.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator_core.plan import warm_notes
from orchestrator_core.plan.lane import Lane

if TYPE_CHECKING:
    from orchestrator_core.plan.planner import Planner

WAIT = "ORCHESTRATOR_COMPILE"
"""Environment variable; ``wait`` lets plans wait for what has to be compiled first."""

COMPILING = "two to three minutes"
"""How long that takes a machine of two cores."""

NOT_YET = "was not tried: its code is being compiled, once on this machine"
"""What is said of a planner whose part is not there."""

FIRST = "heft"
"""The part that every plan begins with."""

IN_THIS_PROCESS = (
    FIRST,
    "lists",
    "bounds",
    "local-search",
    "beam",
    "local-search-general",
    "coarsen",
)
"""Parts that a plan for the makespan may need in the caller's process."""

SIMULATION = "simulation"
"""The part that judges plans, whose code is not the planner's."""

FOR_PLANS = (*IN_THIS_PROCESS, "solvers")
"""Parts that a plan for the makespan may need in any process."""

PARTS = (*FOR_PLANS, SIMULATION, "repair", "objectives")
"""What is compiled, in this order; searches under the names of their planners."""

RUNS = ("orchestrator_core.plan.warm_parts", "orchestrator_core.execute.simulate.warm_part")
"""Modules that say how each part is loaded, or compiled, as `RUNS`."""

IN_BACKGROUND = f"from {__name__} import in_background; in_background()"
"""What the process runs that compiles. Not this module with ``-m``: it would be there twice, and
the simulators would ask the one that knows nothing of compiling."""

POLITE = 10
"""Niceness of that process."""

AUTOGROUP = Path("/proc/self/autogroup")
"""On Linux, niceness counts only among the processes of a session; this is the session's own."""

_started: list[subprocess.Popen[bytes]] = []

_compiling = contextvars.ContextVar("compiling", default=False)
"""Is this what compiles? Then nothing is done without what is missing."""


def warm_up() -> None:
    """Load, or compile, all compiled code, and start the helper's process; waits until it is done.

    To be called outside of event loops; any thread will do, since compiled code lets others run.
    """
    from orchestrator_core.plan.crew import pool

    _compile(PARTS)
    pool.start()


def warm_up_aside() -> None:
    """`warm_up` for a process in which others must not be held up, such as a scheduler's: what has
    to be compiled is compiled by another process, and waited for. Where that fails, what there is
    has to do."""
    if not is_compiled_aside():
        warm_up()
        return
    start_in_background()
    for process in _started:
        process.wait()
    warm_notes.wait_for_others()
    if is_warm():
        warm_up()
    else:
        load()


def is_compiled_aside() -> bool:
    """Does `warm_up_aside` have to wait for another process that compiles, for minutes?"""
    return not (_waits() or is_warm())


def compile_once(say: Callable[[str], None], names: Sequence[str] = FOR_PLANS) -> None:
    """For a command's own process, before it plans: of these parts, those that this machine lacks
    are compiled, and `say` is told so, before and after each. The rest is compiled in the
    background."""
    from orchestrator_core.plan.crew import pool
    from orchestrator_core.plan.engine.blas import leave_blas_out

    leave_blas_out()
    if _waits() or is_warm():
        return
    missing = [name for name in names if not warm_notes.is_there(name)]
    if missing:
        say(f"compiling the planner, once on this machine: {COMPILING}")
        _compile(missing, say)
        pool.start()
    if not is_warm():
        start_in_background()


def compile_all() -> None:
    """Run every part, the first one first, once in a process. Only one process of this machine does
    so at a time; others that do wait for it."""
    with warm_notes.alone(wait=True):
        _compile(PARTS)


def _compile(names: Sequence[str], say: Callable[[str], None] = lambda text: None) -> None:
    """Beside a process in the background, which is polite: on a busy machine it may take ten times
    as long as who does not wait for it. Of what it has kept already, nothing is compiled again."""
    token = _compiling.set(True)
    try:
        for done, name in enumerate(names, 1):
            _load(name)
            warm_notes.note(name)
            say(f"{name} is compiled: {done} of {len(names)}")
    finally:
        _compiling.reset(token)


def is_warm() -> bool:
    """Is all compiled code on this machine's disk? Reads no more than the names of a few files."""
    return not cold_parts()


def is_loaded() -> bool:
    """Has this process loaded what runs compiled code, at least?"""
    return f"{__package__}.engine.machine" in sys.modules


def cold_parts() -> frozenset[str]:
    """The parts that are not on this machine's disk."""
    return frozenset(name for name in PARTS if not warm_notes.is_there(name))


def load() -> frozenset[str]:
    """Load what is there, once in a process, so that no budget pays for it. What is not there is
    compiled in the background from now on; returned are the parts to do without meanwhile.

    With ``ORCHESTRATOR_COMPILE=wait``, and where no place on disk can be written, nothing is loaded
    ahead, and what is missing is waited for.
    """
    if _waits():
        return frozenset()
    cold = cold_parts()
    if cold:
        start_in_background()
    for name in IN_THIS_PROCESS:
        if name not in cold:
            _load(name)
    if FIRST in cold:
        _load_compiler()
    return cold


def is_missing(name: str) -> bool:
    """Has this machine no code for the part, and is nobody to wait for it? Then it is compiled in
    the background from now on."""
    if _compiling.get() or _waits() or warm_notes.is_there(name):
        return False
    start_in_background()
    return True


@contextlib.contextmanager
def not_waiting() -> Iterator[None]:
    """Meanwhile, in this thread, nothing is compiled on a machine that lacks a part: what takes
    code that is not there is interpreted. With all parts, what they lack is compiled."""
    from orchestrator_core.plan.engine.compiled import not_compiling

    with contextlib.nullcontext() if _waits() or is_warm() else not_compiling():
        yield


def part_of(planner: Planner) -> str:
    """The part that a planner needs; empty if none in this process."""
    if planner.lane is Lane.LIST:
        return FIRST if planner.name == FIRST else "lists"
    if planner.lane is Lane.SEARCH:
        return planner.name if planner.name in PARTS else "objectives"
    return ""


def start_in_background() -> None:
    """A process that compiles what is missing, if there is none, and outlives this one if need
    be."""
    if _started:
        return  # once in a process, so that one that fails is not started by every plan
    with warm_notes.alone(wait=False) as free:
        if not free:
            return
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with contextlib.suppress(OSError):
        _started.append(
            subprocess.Popen(
                [sys.executable, "-P", "-c", IN_BACKGROUND],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        )


def in_background() -> None:
    """What is missing is compiled by this process, while others have more important things to do;
    nothing if another process does so already."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(POLITE)
    with contextlib.suppress(OSError):
        AUTOGROUP.write_text(str(POLITE), encoding="ascii")
    with warm_notes.alone(wait=False) as free:
        pass
    if free:
        compile_all()


@functools.cache
def _load_compiler() -> None:
    """It takes a second to tell the types of arguments, even if nothing is compiled then."""
    from orchestrator_core.plan.engine.compiled import not_compiling

    with not_compiling():
        _runs()[FIRST]()


@functools.cache
def _load(name: str) -> None:
    _runs()[name]()


def _waits() -> bool:
    """Is what is missing waited for: since that is asked for, or can be kept nowhere?"""
    return os.environ.get(WAIT, "").strip().lower() == "wait" or warm_notes.folder() is None


def _runs() -> dict[str, Callable[[], None]]:
    """By name, since they know everything that is compiled, which must not know them in turn."""
    return {k: v for name in RUNS for k, v in importlib.import_module(name).RUNS.items()}
