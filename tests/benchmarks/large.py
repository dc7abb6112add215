"""Graphs of thousands of tasks, ours beside plain Dask: `./dev bench large [--tasks N,N]`.

Layered graphs on four workers of eight threads each, of the speeds of `live`. Runs alternate; what
holds up the event loop is measured beside: the longest callback of ours, and of anybody, in
milliseconds of processor time, without Python's collector, which has all of this process to go
through. Scheduler, client and workers share this machine, so that above some hundred tasks a second
they are what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from typing import Any
from unittest import mock

from tests.benchmarks.live import cluster
from tests.benchmarks.live.run import Outcome, learn, ours, plain
from tests.benchmarks.live.workload import Key, Step, Workload

SHOWS_ITSELF = True

THREADS = 8
RUN_SECONDS = 25.0
"""About how long a run takes, whatever the number of its tasks."""

HEAD = f"{'tasks':>6} {'plain s':>8} {'ours s':>7} {'ratio':>6} {'error':>6}  longest callback, ms"


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("large")
    group.add_argument("--tasks", default="2000,5000,10000", help="sizes; default: %(default)s")
    group.add_argument("--pairs", type=int, default=2, help="pairs of runs; default: 2")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    os.environ.setdefault("ORCHESTRATOR_COMPILE", "wait")
    from orchestrator_core.plan.warm import warm_up

    warm_up()
    print(HEAD, flush=True)
    sizes = [int(size) for size in options.tasks.split(",")]
    with mock.patch.dict(cluster.WORKER, nthreads=THREADS):
        return {"rows": [row for size in sizes for row in _rows(size, options.pairs)]}


def layered(tasks: int) -> Workload:
    """Tasks with up to three inputs among the 200 before; a quarter takes 20 times as long."""
    dice = random.Random(7)
    unit = RUN_SECONDS * sum(cluster.MIXED) * THREADS / tasks / 1.69
    steps: dict[Key, Step] = {}
    for i in range(tasks):
        count = dice.randint(1, 3) if i >= 2 * THREADS * len(cluster.MIXED) else 0
        near = dice.sample(range(max(0, i - 200), i), count)
        inputs = tuple(("task", j) for j in sorted(near))
        steps[("task", i)] = Step(unit * dice.choice((0.25, 0.5, 1.0, 5.0)), inputs=inputs)
    return Workload("layered", steps)


def _rows(tasks: int, pairs: int) -> Iterator[dict[str, Any]]:
    workload = layered(tasks)
    with (
        tempfile.TemporaryDirectory(prefix="orchestrator-bench-") as folder,
        cluster.running(cluster.MIXED, True) as live,
    ):
        store = Path(folder) / "large.db"
        learn(live, workload, store, 1)
        for _ in range(pairs):
            with callbacks() as without:
                stock = plain(live, workload)
            with callbacks() as longest:
                found = ours(live, workload, store)
            row = _row(tasks, stock, found) | {
                "longest_of_ours_ms": round(1e3 * longest.ours, 1),
                "longest_of_ours": longest.name,
                "longest_ms": round(1e3 * max(longest.ours, longest.others), 1),
                "longest_of_plain_ms": round(1e3 * without.others, 1),
            }
            _show(row)
            yield row


def _row(tasks: int, stock: Outcome, found: Outcome) -> dict[str, Any]:
    record = found.record
    plan = None if record is None else record.plan
    return {
        "tasks": tasks,
        "plain": round(stock.seconds, 2),
        "ours": round(found.seconds, 2),
        "ratio": round(found.seconds / stock.seconds, 3),
        "forecast": None if plan is None else round(plan.predicted, 2),
        "reason": "" if record is None else record.reason,
        "notes": [] if record is None else list(record.notes),
        "counts": {name: value for name, value in found.counts.items() if value},
    }


def _show(row: dict[str, Any]) -> None:
    forecast = row["forecast"]
    error = "left" if forecast is None else f"{100 * (forecast / row['ours'] - 1):+.0f} %"
    ours = f"{row['longest_of_ours_ms']:.0f} ({row['longest_of_ours']})"
    print(
        f"{row['tasks']:>6} {row['plain']:>8.1f} {row['ours']:>7.1f} {row['ratio']:>6.2f} "
        f"{error:>6}  ours {ours}, any {row['longest_ms']:.0f}, "
        f"under plain Dask {row['longest_of_plain_ms']:.0f}",
        flush=True,
    )


@dataclass
class Longest:
    """Seconds of processor time of the longest callbacks: ours, with its name, and all others."""

    ours: float = 0.0
    others: float = 0.0
    name: str = ""

    def see(self, call: Any, seconds: float) -> None:
        call = getattr(call, "func", call)
        owner = getattr(call, "__self__", None)
        module = type(owner).__module__ if owner is not None else getattr(call, "__module__", "")
        if not str(module).startswith("orchestrator_core"):
            self.others = max(self.others, seconds)
        elif seconds > self.ours:
            self.ours, self.name = seconds, str(getattr(call, "__qualname__", call))


@contextlib.contextmanager
def callbacks() -> Iterator[Longest]:
    """What is called on the event loops of this process meanwhile."""
    longest, collecting = Longest(), defaultdict[int, float](float)
    original = asyncio.Handle._run

    def collects(phase: str, _: object) -> None:
        collecting[get_ident()] += time.thread_time() * (1 if phase == "stop" else -1)

    def timed(handle: asyncio.Handle) -> None:
        here = get_ident()
        begun = time.thread_time() - collecting[here]
        original(handle)
        took = time.thread_time() - collecting[here] - begun
        longest.see(handle._callback, took)  # type: ignore[attr-defined]

    gc.callbacks.append(collects)
    try:
        with mock.patch.object(asyncio.Handle, "_run", timed):
            yield longest
    finally:
        gc.callbacks.remove(collects)
