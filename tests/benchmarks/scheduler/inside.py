"""Functions that run in the scheduler's process, on its event loop."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.benchmarks.scheduler.stopwatch import Stopwatch

HOOKS = ("update_graph", "transition", "add_worker", "remove_worker")
DASKS_OWN = ("transitions", "is_rootish", "decide_worker_non_rootish")
OVERRIDES = ("is_rootish", "decide_worker_non_rootish")


class Callbacks:
    """Processor time of each callback of the event loop: so long nobody else can run there.

    Not by the clock, for what else this machine does is not the scheduler's fault.
    """

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._original = asyncio.Handle._run
        original, seconds = self._original, self._seconds

        def timed(handle: asyncio.Handle) -> None:
            begun = time.thread_time()
            original(handle)
            seconds.append(time.thread_time() - begun)

        asyncio.Handle._run = timed  # type: ignore[method-assign]

    def stop(self) -> float:
        """The longest, in seconds."""
        asyncio.Handle._run = self._original  # type: ignore[method-assign]
        return max(self._seconds)


def prepare(dask_scheduler: Any) -> None:
    """Nothing is logged or counted but what a plain scheduler does."""
    dask_scheduler.benchmark = {}


def processor_seconds(dask_scheduler: Any) -> tuple[float, float]:
    """Of the whole process, and of the event loop's thread alone."""
    return time.process_time(), time.thread_time()


def processor_seconds_beside(dask_scheduler: Any) -> float:
    """Of all processes that this one has started and that are still there."""
    import psutil

    each = psutil.Process().children(recursive=True)
    return sum(sum(process.cpu_times()[:2]) for process in each)


def start_watching(dask_scheduler: Any) -> None:
    dask_scheduler.benchmark["callbacks"] = Callbacks()


def stop_watching(dask_scheduler: Any) -> float:
    """Seconds of the longest callback."""
    return float(dask_scheduler.benchmark.pop("callbacks").stop())


def watch_dask(dask_scheduler: Any) -> None:
    """Before the plugin is there: what Dask's own methods take is not ours, though we call them."""
    watch = dask_scheduler.benchmark["watch"] = Stopwatch()
    for name in DASKS_OWN:
        setattr(dask_scheduler, name, watch.theirs(getattr(dask_scheduler, name)))
    stealing = dask_scheduler.extensions["stealing"]
    stealing.steal_time_ratio = watch.theirs(stealing.steal_time_ratio)


def watch_ours(dask_scheduler: Any) -> None:
    """Once the plugin is there: its hooks and its overrides."""
    watch = dask_scheduler.benchmark["watch"]
    plugin = dask_scheduler.plugins["orchestrator"]
    stealing = dask_scheduler.extensions["stealing"]
    for owner, names in (
        (plugin, HOOKS),
        (dask_scheduler, OVERRIDES),
        (stealing, ("steal_time_ratio",)),
    ):
        for name in names:
            setattr(owner, name, watch.ours(name, getattr(owner, name)))


def watched(dask_scheduler: Any) -> dict[str, float]:
    """Seconds of our own code since the last call, by hook."""
    found: dict[str, float] = dask_scheduler.benchmark["watch"].take()
    return found


def profiled(dask_scheduler: Any, start: bool) -> str:
    """Profile the event loop's thread; the text of the table once it is stopped."""
    import cProfile
    import io
    import pstats

    if start:
        profile = dask_scheduler.benchmark["profile"] = cProfile.Profile()
        profile.enable()
        return ""
    profile = dask_scheduler.benchmark.pop("profile")
    profile.disable()
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats("orchestrator", 40)
    pstats.Stats(profile, stream=text).sort_stats("cumtime").print_stats("orchestrator", 40)
    return text.getvalue()
