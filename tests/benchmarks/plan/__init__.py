"""How good the plans are, beside the field's: `./dev bench plan [--data DIR] [--sets A,B]`.

One table for each set of instances: our plan, its proven gap and its time beside HEFT, the best of
all heuristics of SAGA, CP-SAT through PyJobShop where it can express the instance, and the best
known value. `--data` is a folder with `stg`, `rcpsp`, `mmrcpsp`, `jsp`, `wfcommons` and
`best_known.csv`; without it there are the instances of this repository and generated ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHOWS_ITSELF = True
"""Prints its tables while it measures; the figures go to `--json` alone."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("plan")
    group.add_argument(
        "--data", type=_folder, metavar="DIR", help="folder of public benchmark sets"
    )
    group.add_argument(
        "--sets", type=_names, default=(), help="some of the sets, separated by commas"
    )
    group.add_argument("--most", type=int, metavar="N", help="at most N instances of each set")
    group.add_argument("--seconds", type=float, help="of planning each; default: as the set says")
    group.add_argument("--largest", type=int, metavar="N", help="leave out what has more tasks")
    group.add_argument(
        "--saga-seconds", type=float, default=10.0, help="for each SAGA heuristic and instance"
    )
    group.add_argument("--alone", action="store_true", help="without SAGA and PyJobShop")


def _folder(text: str) -> Path:
    if not (Path(text) / "best_known.csv").is_file():
        raise argparse.ArgumentTypeError(f"there is no folder {text!r} with best_known.csv in it")
    return Path(text)


def _names(text: str) -> tuple[str, ...]:
    from tests.benchmarks.plan.sets import all_sets

    there = [each.name for each in all_sets(None)]
    for name in (names := tuple(text.split(","))):
        if name not in there:
            raise argparse.ArgumentTypeError(
                f"there is no set {name!r}; there are {', '.join(there)}"
            )
    return names


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from orchestrator_core.plan.warm import warm_up
    from tests.benchmarks.plan.run import run_sets

    warm_up()
    return run_sets(options)
