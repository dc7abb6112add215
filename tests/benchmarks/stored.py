"""Graphs that read what was computed before, on workers of speeds 4:2:1:1.

    python -m tests.benchmarks.stored [--pairs N] [--cases "heavy map"]

Chunks lie on the workers by turns, as `persist` leaves them; each graph reads them, combines what
it made of them, and is asked for again and again. Plain Dask and the plugin in turns, in one run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from orchestrator_core.orchestrate import advisor_for_store
from tests.benchmarks.live.cluster import MIXED, Running, running
from tests.benchmarks.live.run import steered
from tests.benchmarks.live.tasks import work

CHUNKS = 48
MEGABYTE = 1_000_000
CASES = {
    "map, then sum": (0.25, MEGABYTE, 4),
    "heavy map": (0.6, MEGABYTE, 48),
    "large chunks": (0.25, 20 * MEGABYTE, 4),
}
"""Seconds of each reader at speed 1, bytes of its chunk, how many results are added at once."""


def graph(seconds: float, at_once: int, stored: list[Any]) -> tuple[dict[Any, Any], list[Any]]:
    found: dict[Any, Any] = {
        ("read", i): (work, seconds * (1 + i % 3), 8, each) for i, each in enumerate(stored)
    }
    layer, depth = list(found), 0
    while len(layer) > 1:
        above = []
        for i in range(0, len(layer), at_once):
            key = (f"add{depth}", i)
            found[key] = (work, 0.05, 8, *layer[i : i + at_once])
            above.append(key)
        layer, depth = above, depth + 1
    return found, layer


def once(live: Running, seconds: float, at_once: int, stored: list[Any]) -> float:
    tasks, wanted = graph(seconds, at_once, stored)
    begun = time.perf_counter()
    live.client.get(tasks, wanted)
    taken = time.perf_counter() - begun
    while any(state.state != "memory" for state in live.scheduler.tasks.values()):
        time.sleep(0.02)
    return taken


def put(live: Running, nbytes: int) -> list[Any]:
    """The chunks, by turns on the workers."""
    addresses = sorted(live.scheduler.workers)
    return [
        live.client.submit(work, 0, nbytes, workers=[addresses[i % len(addresses)]], pure=False)
        for i in range(CHUNKS)
    ]


def compare(live: Running, case: str, pairs: int, store: Path) -> None:
    from distributed import wait

    seconds, nbytes, at_once = CASES[case]
    stored = put(live, nbytes)
    wait(stored)  # type: ignore[no-untyped-call]
    plain, ours = [], []
    for _ in range(2):
        with steered(live, advisor_for_store(str(store)), "observe"):
            once(live, seconds, at_once, stored)
    for _ in range(pairs):
        plain.append(once(live, seconds, at_once, stored))
        with steered(live, advisor_for_store(str(store))) as plugin:
            ours.append(once(live, seconds, at_once, stored))
            session = plugin.session
            run = None if session is None else session.last_run
        if run is not None:
            plan = None if run.advice is None else run.advice.plan
            print(f"  {ours[-1]:.2f} s, Dask {plain[-1]:.2f} s; {run.reason}; {run.notes}")
            if plan is not None:
                print(f"  predicted {plan.predicted:.2f} s, Dask {plan.default_predicted:.2f} s")
    ratio = median(a / b for a, b in zip(ours, plain, strict=True))
    print(f"{case:20} Dask {median(plain):.2f} s  ours {median(ours):.2f} s  ratio {ratio:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    for case in options.cases:
        with tempfile.TemporaryDirectory() as folder, running(MIXED, declare=True) as live:
            compare(live, case, options.pairs, Path(folder) / "runs.db")


if __name__ == "__main__":
    main()
