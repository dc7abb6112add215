"""Ours beside plain Dask on a live cluster: `./dev bench live [--workloads A,B] [--variants C]`.

Four one-thread worker processes of speeds 4:2:1:1, emulated by sleeping, or four equal ones. Plain
Dask and the plugin run by turns on the same cluster; figures are the ratios of each pair. Each
workload is observed twice before. `--data` is a folder with recorded workflows of WfCommons, or
with a folder `wfcommons` of them; without it there are those of this repository.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

SHOWS_ITSELF = True
"""Prints its rows while it measures; all figures go to `--json`."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("live")
    group.add_argument("--data", type=Path, metavar="DIR", help="folder of recorded workflows")
    group.add_argument("--runs", type=int, default=5, help="pairs of runs; default: 5")
    group.add_argument("--workloads", default="", help="some of them, by the start of their names")
    group.add_argument("--variants", default="", help="some of them, separated by commas")
    group.add_argument(
        "--trace-tasks", type=int, default=350, metavar="N", help="leave out larger workflows"
    )
    group.add_argument("--scale", type=float, default=1.0, help="of all durations; default: 1")
    group.add_argument(
        "--undeclared", action="store_true", help="workers do not say how fast they are"
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    os.environ.setdefault("ORCHESTRATOR_COMPILE", "wait")
    from orchestrator_core.plan.warm import warm_up
    from tests.benchmarks.live.choice import chosen
    from tests.benchmarks.live.compare import compare
    from tests.benchmarks.live.row import error_summary
    from tests.benchmarks.live.show import show_head, show_row, show_sums

    warm_up()
    variants, workloads = chosen(options)
    show_head()
    rows = []
    for row in compare(variants, workloads, options.runs, not options.undeclared):
        rows.append(row)
        show_row(row)
    show_sums(rows)
    exact = [row for row in rows if row.variant.name == "exact"]
    return {"rows": [row.as_json() for row in rows], "exact_error": error_summary(exact)}
