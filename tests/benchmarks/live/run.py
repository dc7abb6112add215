"""One run of a workload, under plain Dask or with the plugin on the scheduler."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from orchestrator_core.execute.dask import OrchestratorPlugin, client
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.orchestrate import advisor_for_store
from tests.benchmarks.live.cluster import Running
from tests.benchmarks.live.tasks import number_of
from tests.benchmarks.live.variants import Belief
from tests.benchmarks.live.watch import MemoryWatch
from tests.benchmarks.live.workload import Workload

FORGET_SECONDS = 30.0
READY_SECONDS = 300.0
"""How long a busy machine may take to forget a run, and to load the planners."""


@dataclass(frozen=True)
class Outcome:
    """What a run took.

    Attributes:
        seconds: from the submission until all wanted outputs are there.
        managed, resident: as of `MemoryWatch`, in bytes.
        record: what the plugin recorded; None for plain Dask.
        counts: how often it did what; see `execute.dask.counters`.
    """

    seconds: float
    managed: float
    resident: float
    record: RunRecord | None = None
    counts: Mapping[str, float] = field(default_factory=dict)


def plain(live: Running, workload: Workload) -> Outcome:
    """Under Dask alone."""
    return _run(live, workload)


def ours(
    live: Running,
    workload: Workload,
    store: Path,
    belief: Belief | None = None,
    mode: str = "auto",
) -> Outcome:
    """With the plugin and the default advisor, which knows what is in `store`."""
    advisor: Any = advisor_for_store(str(store))
    asked, builds = _believe(advisor, belief), taken(advisor)
    with steered(live, advisor, mode) as plugin:
        outcome = _run(live, workload)
        counts = counted(plugin)
    found = max((build() for build in builds), key=lambda run: len(run.graph), default=None)
    if belief is not None and found is not None and found.plan is not None and not asked:
        raise RuntimeError("the plan was made without asking for prices: nothing was perturbed")
    return Outcome(outcome.seconds, outcome.managed, outcome.resident, found, counts)


def taken(advisor: Any) -> list[Callable[[], RunRecord]]:
    """What makes the records of runs that the advisor is told of from now on; grows."""
    builds: list[Callable[[], RunRecord]] = []
    keep = advisor.take

    def take(build: Callable[[], RunRecord], tasks: int) -> None:
        builds.append(build)
        keep(build, tasks)

    advisor.take = take
    return builds


@contextlib.contextmanager
def steered(live: Running, advisor: Any, mode: str = "auto") -> Iterator[OrchestratorPlugin]:
    """The plugin is on the scheduler, and ready to plan."""
    plugin = OrchestratorPlugin(advisor=advisor, mode=mode)
    live.sync(live.scheduler.register_scheduler_plugin, plugin, idempotent=True)
    try:
        if not client.wait_ready(live.client, READY_SECONDS):
            raise RuntimeError("the advisor was not ready in time")
        yield plugin
    finally:
        client.remove_plugin(live.client)


def learn(live: Running, workload: Workload, store: Path, runs: int = 2) -> None:
    """Let the plugin observe this many runs."""
    for _ in range(runs):
        ours(live, workload, store, mode="observe")


def copy_of(store: Path, name: str) -> Path:
    """The same database under another name."""
    target = store.with_name(f"{name}.db")
    for path in store.parent.glob(f"{store.name}*"):
        shutil.copy(path, target.with_name(path.name.replace(store.name, target.name)))
    return target


def counted(plugin: OrchestratorPlugin) -> dict[str, float]:
    """How often the plugin did what since it was put there; see `execute.dask.counters`."""
    if plugin.session is None:
        raise RuntimeError("the plugin left the scheduler")
    return asdict(plugin.session.counters)


def _believe(advisor: Any, belief: Belief | None) -> list[bool]:
    """Let the advisor believe in other prices; the list grows when it is asked for them."""
    asked: list[bool] = []
    if belief is not None:
        price = advisor.price

        def believed(*arguments: Any, **options: Any) -> Any:
            asked.append(True)
            return belief(price(*arguments, **options))

        advisor.price = believed
    return asked


def _run(live: Running, workload: Workload) -> Outcome:
    from distributed import wait

    graph, numbers = workload.graph(), workload.numbers()
    with MemoryWatch(live) as watch:
        begun = time.perf_counter()
        futures = live.client.get(graph, workload.wanted, sync=False)
        wait(futures)  # type: ignore[no-untyped-call]
        seconds = time.perf_counter() - begun
    found = live.client.gather([live.client.submit(number_of, each) for each in futures])
    if found != [numbers[key] for key in workload.wanted]:
        raise RuntimeError(f"{workload.name}: wrong results")
    del futures
    wait_forgotten(live)
    return Outcome(seconds, watch.managed, watch.resident)


def wait_forgotten(live: Running) -> None:
    """Or the next run would find the outputs of this one."""
    end = time.perf_counter() + FORGET_SECONDS
    while live.scheduler.tasks or any(state.nbytes for state in live.scheduler.workers.values()):
        if time.perf_counter() > end:
            raise RuntimeError("the scheduler did not forget the last run")
        time.sleep(0.02)
