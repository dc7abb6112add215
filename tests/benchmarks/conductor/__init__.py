"""The conductor against plain ``jax.jit`` of the same function in the same process.

`./dev bench conductor` on this machine's CPU; `python -m tests.benchmarks.conductor` on whatever
device JAX finds, with only JAX, NumPy, SciPy and this checkout.
"""

from __future__ import annotations

import argparse
from typing import Any

SHOWS_ITSELF = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument(
        "--sweep", action="store_true", help="ordinary functions instead: is anything slower?"
    )
    parser.add_argument("--cases", default="", help="only those whose name has one of these, by |")
    parser.add_argument("--gpu", default="", help="the same for what only a GPU can tell")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    if options.sweep:
        return {"sweep": _swept(options)}
    from tests.benchmarks.conductor import gpu
    from tests.benchmarks.conductor.cases import CASES
    from tests.benchmarks.conductor.row import measured
    from tests.benchmarks.conductor.show import HEAD, line

    print(HEAD, flush=True)
    rows = []
    for case in CASES:
        if any(part in case.name for part in options.cases.split("|")):
            rows.append(measured(case, options.rounds))
            print(line(rows[-1]), flush=True)
    print(f"\n{gpu.HEAD}", flush=True)
    on_gpu = []
    for each in gpu.rows(options.rounds, options.gpu.split("|")):
        on_gpu.append(each.as_json())
        print(each.line(), flush=True)
    return {"rows": [row.as_json() for row in rows], "on_gpu": on_gpu}


def _swept(options: argparse.Namespace) -> list[dict[str, Any]]:
    from tests.benchmarks.conductor.sweep import LEAST, line, sweep

    rows = []
    for row in sweep(options.rounds, options.cases.split("|")):
        rows.append(row)
        print(line(row), flush=True)
    slower = [row["name"] for row in rows if row["ratio"] < LEAST]
    print(f"{len(slower)} of {len(rows)} below {LEAST}: {', '.join(slower) or 'none'}")
    return rows
