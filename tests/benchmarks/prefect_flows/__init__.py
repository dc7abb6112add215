"""Flows beside stock prefect-dask on mixed workers: `./dev bench prefect_flows [--flows A,B]`.

Four one-thread worker processes of speeds 4:2:1:1, emulated by sleeping, which nobody is told. The
same body runs under `@flow` with a `DaskTaskRunner` and under `@optimized_flow`, by turns, each run
in a process of its own, both on clusters of their own, since workers that ran one of our flows keep
what makes Prefect's tasks lighter: our first run is observed, the others are planned. `--data`
is a folder with recorded workflows of WfCommons, or with a folder `wfcommons` of them; without it
there are those of this repository. `--together` starts them all at once, as several people would.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

SHOWS_ITSELF = True
"""Prints its rows while it measures; all figures go to `--json`."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prefect_flows")
    group.add_argument("--data", type=Path, metavar="DIR", help="folder of recorded workflows")
    group.add_argument("--runs", type=int, default=4, help="pairs of runs; default: 4")
    group.add_argument("--flows", default="", help="some of them, by the start of their names")
    group.add_argument(
        "--trace-tasks", type=int, default=110, metavar="N", help="leave out larger workflows"
    )
    group.add_argument("--together", action="store_true", help="all of them at once")
    group.add_argument(
        "--apart", type=float, default=0.0, metavar="S", help="or S seconds one after the other"
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    least = 1 if options.together else 2
    if options.runs < least or options.apart < 0:
        raise SystemExit(f"./dev bench prefect_flows: --runs from {least}, --apart from 0 s")
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
    from examples.support.prefect_server import prefect_server
    from orchestrator_core.plan.warm import compile_once

    compile_once(print)
    folder = Path(tempfile.mkdtemp(prefix="orchestrator-bench-"))
    with prefect_server(folder) as server:
        from tests.benchmarks.live.cluster import MIXED, running
        from tests.benchmarks.prefect_flows.compare import compare
        from tests.benchmarks.prefect_flows.show import show_head, show_row, sums
        from tests.benchmarks.prefect_flows.together import compare_together

        with running(MIXED, declare=False) as plain, running(MIXED, declare=False) as ours:
            server.wait()
            if options.together:
                return compare_together(plain.client, ours.client, options, folder)
            rows = []
            show_head()
            for row in compare(plain.client, ours.client, options, folder):
                rows.append(row)
                show_row(row)
    return {"rows": [row.as_json() for row in rows], **sums(rows)}
