"""What the plugin costs Dask's scheduler: `./dev bench scheduler [--tasks N] [--rounds N]`.

The scheduler and two workers are processes of their own; tasks do nothing. Modes: plain Dask,
`observe` with the default advisor and an empty store, and `director` with a plan for every task.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

PARTS = ("cpu", "own", "blocks", "replan", "short")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scheduler")
    group.add_argument("--tasks", type=int, default=20_000, help="trivial tasks; default: 20000")
    group.add_argument("--rounds", type=int, default=3, help="runs in each mode; default: 3")
    group.add_argument(
        "--parts",
        type=_parts,
        default=PARTS,
        help=f"some of {', '.join(PARTS)}, separated by commas; default: all",
    )


def _parts(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(
                f"there is no part {name!r}; there are {', '.join(PARTS)}"
            )
    return names


def measure(options: argparse.Namespace) -> dict[str, Any]:
    os.environ.setdefault("ORCHESTRATOR_COMPILE", "wait")
    from orchestrator_core.plan.warm import warm_up
    from tests.benchmarks.scheduler import blocks, cpu, replans, short

    parts = options.parts
    found: dict[str, Any] = {}
    if "cpu" in parts:
        found["cpu"] = cpu.processor_time(options.tasks, options.rounds)
    if "own" in parts:
        found["own code"] = cpu.own_code(options.tasks)
    if "blocks" in parts:
        found["longest block of the event loop, ms"] = blocks.longest_blocks(options.rounds)
    if "replan" in parts:
        warm_up()
        found["replan of 2000 open tasks"] = replans.replan_times()
    if "short" in parts:
        found["short graphs, one after the other"] = short.short_graphs()
    return found
