"""Many Prefect flows at a time on one scheduler: right results, and what each task costs.

Tasks do nothing, so that what is left is what submitting, planning and recording cost. The
scheduler and the flows' threads share this process: its CPU seconds are those of both.

Prefect's server on SQLite answers a crowd of hundreds with 503, whoever runs the tasks. Let it keep
its records in Postgres: `PREFECT_SERVER_DATABASE_CONNECTION_URL=postgresql+asyncpg://...`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def compare(plain: Any, own: Any, folder: Path, flows: int, tasks: int) -> dict[str, Any]:
    """Stock prefect-dask on the first cluster, then ours watched and once more on the second, each
    with its own small run before."""
    from prefect_dask import DaskTaskRunner

    from orchestrator_prefect import OptimizedTaskRunner

    address = own.scheduler_address
    store = str(folder / "crowd.db")
    makers: dict[str, Callable[[], Any]] = {
        "stock": lambda: DaskTaskRunner(address=plain.scheduler_address),
        "observed": lambda: OptimizedTaskRunner(
            address=address, store=store, mode="observe", report=False
        ),
        "ours": lambda: OptimizedTaskRunner(address=address, store=store, report=False),
    }
    found: dict[str, Any] = {"flows": flows, "tasks_each": tasks}
    for name, make in makers.items():
        _crowd(make, 2, 4)
        found[name] = _crowd(make, flows, tasks)
        print(f"{name}: {found[name]}", flush=True)
    number = flows * tasks
    for name in ("observed", "ours"):
        for what in ("wall_s", "cpu_s"):
            more = 1000 * (found[name][what] - found["stock"][what]) / number
            found[f"{name}_more_ms_a_task_{what[:-2]}"] = round(more, 2)
    found["left_on_scheduler"] = _left(own)
    return found


def _crowd(make: Callable[[], Any], flows: int, tasks: int) -> dict[str, Any]:
    from prefect import flow, task

    @task
    def times(number: int, factor: int) -> int:
        return number * factor

    def body(number: int) -> int:
        futures = [times.submit(number, factor) for factor in range(tasks)]
        return sum(future.result() for future in futures)

    made = [flow(body, name="crowd", task_runner=make()) for _ in range(flows)]
    wall, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(flows) as pool:
        runs = [pool.submit(each, number) for number, each in enumerate(made)]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    failed = [repr(run.exception()) for run in runs if run.exception() is not None]
    right = sum(
        run.exception() is None and run.result() == number * tasks * (tasks - 1) // 2
        for number, run in enumerate(runs)
    )
    found = {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "right_flows": right}
    return found | ({"failed": len(failed), "first": failed[0]} if failed else {})


def _left(cluster: Any) -> dict[str, int]:
    """What the scheduler still knows when all flows have ended; tasks go a moment later."""
    from orchestrator_core.execute.dask.plugin import OrchestratorPlugin

    scheduler = cluster.scheduler
    deadline = time.monotonic() + 30
    while scheduler.tasks and time.monotonic() < deadline:
        time.sleep(0.05)
    left = {"tasks": len(scheduler.tasks)}
    for plugin in scheduler.plugins.values():
        if isinstance(plugin, OrchestratorPlugin) and plugin.session is not None:
            follower = plugin.session.steering.follower
            left |= {"slots": len(follower.slots), "held": len(follower.held)}
            left |= {"runs": len(plugin.session.announcements)}
    return left
