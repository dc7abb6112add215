"""How long `conduct` itself takes with a training step of twelve layers, tracing and compiling not
counted: for the first time, again in the process, and in another process that finds the plan cache.
And how long a JAX task waits until it is compiled, all counted, where nothing is kept on disk and
where all is, beside plain `jax.jit`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

LAYERS, LENGTH, PROCESSES = 12, 1024, 3

PROGRAM = f"""
import json, time
import jax
from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.planning.planner import Planner
from tests.benchmarks.conductor.cases.transformers import train_step

step, arguments = train_step({LAYERS}, {LENGTH})
flat, tree = jax.tree.flatten(tuple(arguments))

def traced():
    return _jax.trace(lambda *a: jax.tree.leaves(step(*tree.unflatten(a))), map(jax.typeof, flat))

def planned():
    jaxpr = traced()
    begun = time.perf_counter()
    origin = Planner().plan(jaxpr, Goal()).origin
    return origin, time.perf_counter() - begun

origin, first = planned()
again = [planned()[1] for _ in range(5)]
print(json.dumps([len(read(traced()).nodes), origin, first, sorted(again)[2]]))
"""

WHOLE = f"""
import json, sys, time
import jax
from orchestrator_core.conductor import kept_programs
from orchestrator_core.conductor.ahead import Ahead
from orchestrator_core.conductor.goal import Goal
from tests.benchmarks.conductor.cases.transformers import train_step

step, arguments = train_step({LAYERS}, {LENGTH})
begun = time.perf_counter()
if sys.argv[1] == "plain":
    jax.jit(step).lower(*arguments).compile()
else:
    kept_programs.keep()
    Ahead(step, Goal()).prepare(tuple(arguments), {{}})
print(json.dumps(time.perf_counter() - begun))
"""


def measure() -> dict[str, Any]:
    """Seconds, medians of several processes."""
    return {**_planning(), "until_it_is_compiled": _whole()}


def _planning() -> dict[str, Any]:
    new, again, from_disk = [], [], []
    for _ in range(PROCESSES):
        with tempfile.TemporaryDirectory() as cache:
            nodes, _, first, known = _process(PROGRAM, cache)
            _, origin, other, _ = _process(PROGRAM, cache)
        if origin != "the plan cache":
            raise RuntimeError(f"decided by {origin}, not by the plan cache")
        new.append(first)
        again.append(known)
        from_disk.append(other)
    return {
        "operations": nodes,
        "first": round(statistics.median(new), 2),
        "again_in_the_process": round(statistics.median(again), 3),
        "in_another_process_by_the_plan_cache": round(statistics.median(from_disk), 2),
    }


def _whole() -> dict[str, float]:
    found: dict[str, list[float]] = {"plain": [], "nothing_kept": [], "all_kept": []}
    for _ in range(PROCESSES):
        with tempfile.TemporaryDirectory() as cache:
            found["plain"].append(_process(WHOLE, cache, "plain"))
            found["nothing_kept"].append(_process(WHOLE, cache, "conducted"))
            found["all_kept"].append(_process(WHOLE, cache, "conducted"))
    return {name: round(statistics.median(each), 2) for name, each in found.items()}


def _process(program: str, cache: str, *arguments: str) -> Any:
    given = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**given, "ORCHESTRATOR_PLAN_CACHE": cache, "ORCHESTRATOR_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
