"""The demo: one real workflow, three times on the same mixed workers.

    ./dev demo                  stock prefect-dask, then observed, then planned
    ./dev demo --json FILE      the same, with the figures in FILE

The workflow is the recorded execution of an agroecosystem model (67 tasks, see data/README.md).
Each task sleeps for as long as the recorded one ran, scaled down, divided by the speed of the
worker that it meets; its result has the recorded files' size, scaled down. The four workers have
the emulated speeds 4 : 2 : 1 : 1. Everything else is real: a Prefect server, a Dask cluster of four
processes, the flow, the submissions, the transfers, the plan.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.prefect_server import prefect_server

TRACE = Path(__file__).resolve().parent / "data" / "cycles-chameleon-1l-1c-9p-001.json.gz"
SPEEDS = {"fast": 4.0, "medium": 2.0, "slow-1": 1.0, "slow-2": 1.0}
TIME_SCALE = 0.1
BYTE_SCALE = 0.01


def main() -> int:
    options = _arguments()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="orchestrator-demo-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    with prefect_server(folder, _say):
        figures = _three_runs(folder, options.time_scale)
    figures["demo_s"] = round(time.perf_counter() - begun, 1)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--folder", metavar="DIR", help="keep database and report in DIR")
    parser.add_argument(
        "--time-scale",
        type=float,
        default=TIME_SCALE,
        help="seconds slept for each recorded second",
    )
    return parser.parse_args()


def _say(line: str = "") -> None:
    print(line, flush=True)


@contextmanager
def _workers() -> Iterator[str]:
    """Four worker processes of emulated speeds; yields the scheduler's address."""
    from distributed import Nanny, Scheduler, SpecCluster

    spec = {
        name: {
            "cls": Nanny,
            "options": {
                "nthreads": 1,
                "name": name,
                "dashboard_address": None,
                "env": {"DEMO_SPEED": str(speed), "ORCHESTRATOR_WORKER_KIND": name.split("-")[0]},
            },
        }
        for name, speed in SPEEDS.items()
    }
    scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard_address": None}}
    with SpecCluster(workers=spec, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster.scheduler_address


def _three_runs(folder: Path, time_scale: float) -> dict[str, Any]:
    from prefect import flow
    from prefect_dask import DaskTaskRunner
    from support.replay import replay_flow

    import orchestrator_core as oc
    from orchestrator_core.report import write
    from orchestrator_prefect import optimized_flow

    graph = oc.read_workflow(TRACE)
    store = str(folder / "schedules.db")
    _say(f"workflow  {len(graph)} tasks, {graph.n_edges} edges, {_hours(graph, time_scale)}")
    with _workers() as address:
        _say("workers   four, with emulated speeds 4 : 2 : 1 : 1")
        body = replay_flow(graph, time_scale, BYTE_SCALE)
        stock = flow(body, name="agroecosystem", task_runner=DaskTaskRunner(address=address))
        ours = optimized_flow(body, name="agroecosystem", address=address, store=store)
        stock_s = _timed(stock)
        _say(f"stock     {stock_s:6.1f} s   @flow with DaskTaskRunner")
        observed_s = _timed(ours)
        _say(f"observed  {observed_s:6.1f} s   first run of @optimized_flow: nothing known yet")
        forecast = _forecast(oc, store)
        _say(forecast.pop("line"))
        actual_s = _timed(ours)
    with_store = oc.ScheduleStore(store)
    run = with_store.run(with_store.runs(limit=1)[0].run_id)
    with_store.close()
    assert run.plan is not None
    _say(
        f"planned   {actual_s:6.1f} s   {_signed(actual_s / forecast['predicted_s'] - 1)} against "
        f"the forecast; {stock_s / actual_s:.2f}x as fast as stock; cache {run.plan.cache}"
    )
    report = write(run, folder / "report.html")
    _say(f"report    {report.as_uri()}")
    return {
        **forecast,
        "actual_s": round(actual_s, 3),
        "observed_s": round(observed_s, 3),
        "stock_s": round(stock_s, 3),
        "ratio": round(actual_s / stock_s, 4),
        "cache": run.plan.cache,
        "planner": run.plan.planner,
        "report": str(report),
    }


def _timed(flow: Any) -> float:
    begun = time.perf_counter()
    flow()
    return time.perf_counter() - begun


def _forecast(oc: Any, store: str) -> dict[str, Any]:
    """Plan the flow from what the observed run taught, before it runs again."""
    orchestrator = oc.Orchestrator(store, budget=oc.Budget(seconds=5.0))
    seen = oc.ScheduleStore(store)
    run = seen.run(seen.runs(limit=1)[0].run_id)
    seen.close()
    forecast = orchestrator.forecast(run.graph, run.cluster, run.flow)
    orchestrator.close()
    result = forecast.result
    return {
        "predicted_s": round(result.makespan, 3),
        "lower_bound_s": round(result.lower_bound, 3),
        "gap": round(result.gap, 4),
        "line": (
            f"plan      {result.makespan:6.1f} s   predicted; proven: no plan takes less than "
            f"{result.lower_bound:.1f} s (gap {100 * result.gap:.1f} %); {result.planner}, "
            f"{result.seconds:.1f} s of planning"
        ),
    }


def _hours(graph: Any, time_scale: float) -> str:
    recorded = float(graph.mode_seconds.sum())
    return f"{recorded:.0f} s of recorded work, replayed at {1 / time_scale:.0f}x the speed"


def _signed(fraction: float) -> str:
    return f"{100 * fraction:+.1f} %"


if __name__ == "__main__":
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "error"
    sys.exit(main())
