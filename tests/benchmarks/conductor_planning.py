"""How long `conduct` itself takes with a training step of twelve layers, tracing and compiling not
counted: for the first time, again in the process, and in another process that finds the plan cache;
and how long it takes to lower what it makes, beside what it was. And how long a JAX task waits
until it is compiled, all counted, where nothing is kept on disk and where all is, beside plain
`jax.jit`.
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
from orchestrator_core.conductor.conducted_call import call
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.program import Program
from tests.benchmarks.conductor.cases.transformers import train_step

step, arguments = train_step({LAYERS}, {LENGTH})
flat, tree = jax.tree.flatten(tuple(arguments))

def plainly(*arrays):
    return jax.tree.leaves(step(*tree.unflatten(arrays)))

def seconds(do):
    begun = time.perf_counter()
    made = do()
    return made, time.perf_counter() - begun

def planned():
    jaxpr = _jax.trace(plainly, map(jax.typeof, flat))
    program = Program(jaxpr, Goal())
    return program, seconds(lambda: program.planned.origin)

def lowered(function):
    traced = jax.jit(function).trace(*flat)
    return seconds(traced.lower)[1]

program, (origin, first) = planned()
lowering = lowered(lambda *arrays: call(program, arrays))
again = [planned()[1][1] for _ in range(5)]
print(json.dumps([
    len(read(program.jaxpr).nodes), origin, first, sorted(again)[2], lowering, lowered(plainly)
]))
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
    first: list[list[float]] = []
    other: list[list[float]] = []
    for _ in range(PROCESSES):
        with tempfile.TemporaryDirectory() as cache:
            nodes, _, *seconds = _process(PROGRAM, cache)
            _, origin, *later = _process(PROGRAM, cache)
        if origin != "the plan cache":
            raise RuntimeError(f"decided by {origin}, not by the plan cache")
        first.append(seconds)
        other.append(later)
    planning, again, lowering, plain = map(statistics.median, zip(*first, strict=True))
    by_cache, _, lowering_by_cache, _ = map(statistics.median, zip(*other, strict=True))
    return {
        "operations": nodes,
        "first": round(planning, 2),
        "again_in_the_process": round(again, 3),
        "in_another_process_by_the_plan_cache": round(by_cache, 3),
        "lowering": {
            "plain": round(plain, 2),
            "first": round(lowering, 2),
            "in_another_process": round(lowering_by_cache, 2),
        },
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
