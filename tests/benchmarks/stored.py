"""`./dev bench stored`: graphs that read what was computed before, on workers of speeds 4:2:1:1.

Chunks lie on the workers by turns, as `persist` leaves them; a graph reads them all and adds up
what it made of them, and is asked for again and again, by plain Dask and with the plugin in turns.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from orchestrator_core.orchestrate import advisor_for_store
from tests.benchmarks.live.cluster import MIXED, Running, running
from tests.benchmarks.live.run import steered
from tests.benchmarks.live.tasks import work

SHOWS_ITSELF = True

CHUNKS = 48
MEGABYTE = 1_000_000


class Case(NamedTuple):
    """Seconds of a third of the readers at speed 1, of the others twice and three times as many;
    bytes of each chunk; how many results are added at once."""

    seconds: float
    nbytes: int
    at_once: int


CASES = {
    "map, then sum": Case(0.25, MEGABYTE, 4),
    "heavy map": Case(0.6, MEGABYTE, 48),
    "large chunks": Case(0.25, 20 * MEGABYTE, 4),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=int, default=4, help="pairs of runs; default: 4")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """By case: seconds of plain Dask and of ours, as measured and as foretold."""
    print(f"{'case':16} {'Dask':>7} {'ours':>7} {'ratio':>6}  foretold", flush=True)
    return {name: _measured(name, case, options.pairs) for name, case in CASES.items()}


def _measured(name: str, case: Case, pairs: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder, running(MIXED, declare=True) as live:
        found = _compared(live, case, pairs, str(Path(folder) / "runs.db"))
    plain, ours = median(found["plain"]), median(found["ours"])
    ratio = median(a / b for a, b in zip(found["ours"], found["plain"], strict=True))
    foretold = f"{median(found['plain_foretold']):.2f} and {median(found['foretold']):.2f} s"
    print(f"{name:16} {plain:5.2f} s {ours:5.2f} s {ratio:6.2f}  {foretold}", flush=True)
    return found


def _compared(live: Running, case: Case, pairs: int, store: str) -> dict[str, list[float]]:
    from distributed import wait

    stored = _put(live, case.nbytes)
    wait(stored)  # type: ignore[no-untyped-call]
    for _ in range(2):
        with steered(live, advisor_for_store(store), "observe"):
            _once(live, case, stored)
    found: dict[str, list[float]] = {
        "plain": [],
        "ours": [],
        "plain_foretold": [],
        "foretold": [],
    }
    for _ in range(pairs):
        found["plain"].append(_once(live, case, stored))
        with steered(live, advisor_for_store(store)) as plugin:
            found["ours"].append(_once(live, case, stored))
            run = None if plugin.session is None else plugin.session.last_run
        plan = None if run is None or run.advice is None else run.advice.plan
        if plan is None:
            raise RuntimeError("nothing was planned")
        found["foretold"].append(plan.predicted)
        found["plain_foretold"].append(plan.default_predicted or float("nan"))
    return found


def _put(live: Running, nbytes: int) -> list[Any]:
    """The chunks, by turns on the workers."""
    addresses = sorted(live.scheduler.workers)
    return [
        live.client.submit(work, 0, nbytes, workers=[addresses[i % len(addresses)]], pure=False)
        for i in range(CHUNKS)
    ]


def _once(live: Running, case: Case, stored: list[Any]) -> float:
    """Seconds until the sum is there; returns when nothing but the chunks is left."""
    tasks, wanted = _graph(case, stored)
    begun = time.perf_counter()
    live.client.get(tasks, wanted)
    taken = time.perf_counter() - begun
    while len(live.scheduler.tasks) > len(stored):
        time.sleep(0.02)
    return taken


def _graph(case: Case, stored: list[Any]) -> tuple[dict[Any, Any], list[Any]]:
    found: dict[Any, Any] = {
        ("read", i): (work, case.seconds * (1 + i % 3), 8, each) for i, each in enumerate(stored)
    }
    layer, depth = list(found), 0
    while len(layer) > 1:
        groups = [layer[i : i + case.at_once] for i in range(0, len(layer), case.at_once)]
        above = {(f"add{depth}", i): (work, 0.05, 8, *group) for i, group in enumerate(groups)}
        found |= above
        layer, depth = list(above), depth + 1
    return found, layer
