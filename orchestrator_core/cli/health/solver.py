"""Does the solver answer from its own process? Does numba find a place for compiled code?"""

from __future__ import annotations

import os
import time
from pathlib import Path

from orchestrator_core.cli.health.check import Check, bad, good, warning
from orchestrator_core.cli.health.writable import may_write
from orchestrator_core.errors import OrchestratorError

SOLVER_SECONDS = 20.0
BUSY = f"gave no answer within {SOLVER_SECONDS:g} s, perhaps since this machine has much else to do"

clock = time.perf_counter


def check_solver() -> Check:
    """Two tasks on two workers: the solver must prove that they run side by side."""
    from orchestrator_core.costs.instance import Instance
    from orchestrator_core.plan.budget import Budget
    from orchestrator_core.plan.portfolio import plan

    name, mend = "solver", "type: pip install --force-reinstall ortools"
    instance = Instance.from_arrays([[2.0, 3.0], [2.0, 1.0]], [])
    begun = clock()
    try:
        result = plan(instance, Budget(seconds=SOLVER_SECONDS), ["cpsat"])
    except OrchestratorError as error:
        if clock() - begun >= SOLVER_SECONDS:
            return warning(name, f"CP-SAT {BUSY}", f"ask again when it is idle; if need be, {mend}")
        return bad(name, f"CP-SAT gives no answer: {error}", mend)
    if result.makespan != 2.0:
        return bad(name, f"CP-SAT says {result.makespan:g} where 2 is optimal", mend)
    return good(name, f"CP-SAT answers from a process of its own in {result.seconds:.2g} s")


def check_compiled_cache() -> Check:
    """May numba keep compiled code, or is it compiled anew in every process? Is all of it there?"""
    from platformdirs import user_cache_path

    name, given = "compiled code", os.environ.get("NUMBA_CACHE_DIR")
    try:
        place = Path(given) if given else user_cache_path("orchestrator", appauthor=False)
    except RuntimeError:
        return warning(
            name,
            "cannot be kept: there is no home directory; each process compiles it anew",
            "set HOME, or NUMBA_CACHE_DIR to a folder that can be written",
        )
    if may_write(place):
        return good(name, f"is kept in {place}: {_how_much()}")
    return warning(
        name,
        f"cannot be kept: no file can be made in {place}; each process compiles it anew",
        f"make {place} a folder that can be written, or set NUMBA_CACHE_DIR to one",
    )


def _how_much() -> str:
    """Of the parts that plan, how many this machine has, and what becomes of the rest."""
    from orchestrator_core.plan import warm, warm_notes

    missing = len(warm.cold_parts())
    if not missing:
        return "all of it"
    with warm_notes.alone(wait=False) as free:
        rest = (
            f"is compiled by what plans first, in {warm.COMPILING}" if free else "is in the making"
        )
    return f"{len(warm.PARTS) - missing} of {len(warm.PARTS)} parts; the rest {rest}"
