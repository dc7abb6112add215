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
    parser.add_argument("--cases", default="", help="only those whose name has one of these, by |")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from tests.benchmarks.conductor.cases import CASES
    from tests.benchmarks.conductor.row import measured
    from tests.benchmarks.conductor.show import HEAD, line

    print(HEAD, flush=True)
    rows = []
    for case in CASES:
        if any(part in case.name for part in options.cases.split("|")):
            rows.append(measured(case, options.rounds))
            print(line(rows[-1]), flush=True)
    return {"rows": [row.as_json() for row in rows]}
