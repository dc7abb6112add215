"""The demo: one real workflow, three times on the same mixed workers.

    ./dev demo                  stock prefect-dask, then observed, then planned
    ./dev demo --json FILE      the same, with the figures in FILE

The workflow is the recorded execution of an agroecosystem model (67 tasks, see data/README.md).
Each task sleeps for as long as the recorded one ran, scaled down, divided by the speed of the
worker that it meets; its result has the recorded files' size, scaled down. The four workers have
the emulated speeds 4 : 2 : 1 : 1, which nobody is told: they are learned. Everything else is real:
a Prefect server, a Dask cluster of four processes, the flow, the submissions, the transfers, the
plan. Times are taken inside the flow, from its first submission to its last result.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.prefect_server import PrefectServer, prefect_server

if TYPE_CHECKING:
    from orchestrator_core import RunRecord
    from orchestrator_core.orchestrate.forecast import Forecast

FLOW = "agroecosystem"
TRACE = Path(__file__).resolve().parent / "data" / "cycles-chameleon-1l-1c-9p-001.json.gz"
SPEEDS = {"fast": 4.0, "medium": 2.0, "slow-1": 1.0, "slow-2": 1.0}
TIME_SCALE = 0.09
BYTE_SCALE = 0.01
PLANNING_SECONDS = 2.0


def main() -> int:
    options = _arguments()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="orchestrator-demo-")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    _compile_once()
    _say("starting", "a Prefect server and four worker processes (about 20 s)")
    with prefect_server(folder) as server, _workers() as address:
        figures = _compare(folder, server, address, options)
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
        metavar="X",
        help=f"seconds slept for each recorded second (default {TIME_SCALE})",
    )
    parser.add_argument(
        "--planning-seconds",
        type=float,
        default=PLANNING_SECONDS,
        metavar="S",
        help=f"seconds spent on the plan (default {PLANNING_SECONDS:g})",
    )
    return parser.parse_args()


def _say(what: str, text: str) -> None:
    print(f"{what:9} {text}", flush=True)


def _compile_once() -> None:
    """So that the planned run does not wait for it."""
    from orchestrator_core.plan.warm import PARTS, compile_once

    # All of it: what is compiled in the background would slow down the runs that are compared.
    compile_once(lambda text: _say("once", text), PARTS)


@contextmanager
def _workers() -> Iterator[str]:
    """Four worker processes of emulated speeds, ready for Prefect; the scheduler's address."""
    from distributed import Client, Nanny, Scheduler, SpecCluster

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
    scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard_address": ":0"}}
    with SpecCluster(workers=spec, scheduler=scheduler, silence_logs=50) as cluster:
        with Client(cluster) as client:
            client.run(_import_prefect)  # so that no run pays for it
        yield cluster.scheduler_address


def _import_prefect() -> None:
    import prefect.task_engine  # noqa: F401


def _compare(
    folder: Path, server: PrefectServer, address: str, options: argparse.Namespace
) -> dict[str, Any]:
    """The three runs, told as they end."""
    from prefect import flow
    from prefect_dask import DaskTaskRunner
    from support.replay import Stopwatch, replay_flow

    import orchestrator_core as oc
    from orchestrator_core.report import write
    from orchestrator_prefect import optimized_flow

    time_scale = options.time_scale
    graph = oc.read_workflow(TRACE)
    store = str(folder / "schedules.db")
    watch = Stopwatch()
    body = watch.around(replay_flow(graph, time_scale, BYTE_SCALE))
    stock = flow(body, name=FLOW, task_runner=DaskTaskRunner(address=address))
    ours = optimized_flow(body, name=FLOW, address=address, store=store)
    server.wait()

    recorded = float(graph.mode_seconds.sum())
    _say(
        "workflow", f"{len(graph)} tasks, {graph.n_edges} edges, {recorded:.0f} s of recorded work"
    )
    _say("workers", f"four, of speeds 4 : 2 : 1 : 1; replayed at {1 / time_scale:.0f}x the speed")
    stock_s = _run(watch, stock)
    _say("stock", f"{stock_s:5.1f} s   @flow with DaskTaskRunner")
    observed_s = _run(watch, ours)
    _say("observed", f"{observed_s:5.1f} s   the first run of @optimized_flow: watched, to learn")
    forecast = _forecast(store, options.planning_seconds)
    plan, predicted_s = forecast.result, forecast.total
    bound_s = forecast.lead + plan.lower_bound
    _say("plan", f"{predicted_s:5.1f} s   predicted, by {plan.planner} in {plan.seconds:.1f} s")
    _say("", f"          {forecast.lead:.1f} s of them until its first task starts")
    _say(
        "proof",
        f"{bound_s:5.1f} s   no plan is faster at these durations; gap {100 * plan.gap:.1f} %",
    )
    actual_s = _run(watch, ours)
    run = _last_run(store)
    cache = "miss" if run.plan is None else run.plan.cache
    # The last task ends a little before the flow has its result.
    off = 100 * (run.seconds / predicted_s - 1)
    off_by = f"{abs(off):.1f} % {'later' if off >= 0 else 'sooner'} than predicted"
    _say("planned", f"{actual_s:5.1f} s   its last task ended {off_by}; cache {cache}")
    _say("", f"          {stock_s / actual_s:.2f} times as fast as stock")
    report = write(run, folder / "report.html")
    _say("report", report.as_uri())
    return {
        "predicted_s": round(predicted_s, 3),
        "lead_s": round(forecast.lead, 3),
        "lower_bound_s": round(bound_s, 3),
        "gap": round(plan.gap, 4),
        "planner": plan.planner,
        "actual_s": round(actual_s, 3),
        "recorded_s": round(run.seconds, 3),
        "recorded_lead_s": round(min(task.start for task in run.tasks), 3),
        "promised_s": None if run.plan is None else round(run.plan.predicted, 3),
        "observed_s": round(observed_s, 3),
        "stock_s": round(stock_s, 3),
        "ratio": round(actual_s / stock_s, 4),
        "cache": cache,
        "reason": "" if run.plan is None else run.plan.reason,
        "parts": 0 if run.plan is None else run.plan.parts,
        "report": str(report),
    }


def _run(watch: Any, flow: Callable[[], None]) -> float:
    """Seconds from the flow's first submission to its last result."""
    flow()
    return float(watch.seconds)


def _forecast(store: str, seconds: float) -> Forecast:
    """Plan the flow from what the observed run taught; it is stored, and found by the next run.

    `orchestrator plan FILE.py:FLOW` does the same.
    """
    import orchestrator_core as oc

    run = _last_run(store)
    with closing(oc.Orchestrator(store, budget=oc.Budget(seconds=seconds))) as planning:
        return planning.forecast(run.graph, run.cluster, run.flow)


def _last_run(store: str) -> RunRecord:
    import orchestrator_core as oc

    with closing(oc.ScheduleStore(store)) as opened:
        return opened.run(opened.runs(limit=1)[0].run_id)


if __name__ == "__main__":
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"  # workers grumble when they are stopped
    sys.exit(main())
