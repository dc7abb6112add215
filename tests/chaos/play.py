"""Play a story of faults, plain and with the plugin, and compare: the oracle of the chaos tests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from distributed import Scheduler

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session
from tests.chaos.advisors import Planner
from tests.chaos.rig import Rig, rig_of
from tests.chaos.workload import make_jobs, results_of, sinks

PLAIN = "plain"
UNTESTED = "nothing was planned, so nothing was tested"
MODES = ("observe", "restrict", "director", "holds")
STEERING = MODES[1:]
DIRECTED = {"holds": "director"}
"""The plugin's own name for a mode, where it differs."""

LIMIT = 45.0
"""Seconds after which a story counts as hanging."""

WHOLE = 30.0
"""Seconds that closing and healing may take."""

Story = Callable[[Rig], Awaitable[Any]]
Make = Callable[[str], OrchestratorPlugin | None]


@dataclass
class Outcome:
    """What came of a story.

    Attributes:
        result: what it computed; None if it did not end. wall: seconds. plans: how many.
        wrong: what was found that may not be. notes: what happened to the plan.
    """

    result: Any = None
    wall: float = LIMIT
    wrong: list[str] = field(default_factory=list)
    notes: str = ""
    plans: int = 0


def make_plugin(mode: str, planner: Planner | None = None) -> OrchestratorPlugin | None:
    """The plugin in one of the modes; none for plain Dask."""
    if mode == PLAIN:
        return None
    planner = planner or Planner(holding=mode == "holds")
    planner.holding = planner.holding or mode == "holds"
    return OrchestratorPlugin(
        mode=DIRECTED.get(mode, mode), min_tasks=2, plan_wait=10.0, advisor=planner
    )


def play(
    story: Story,
    mode: str,
    *,
    make: Make = make_plugin,
    limit: float = LIMIT,
    plans: bool = True,
    **settings: Any,
) -> Outcome:
    """The story on a cluster of its own; `plans`: is there something that must be planned?"""
    outcome = asyncio.run(_play(story, mode, make, limit, settings))
    steering = make is make_plugin and mode in STEERING
    if plans and steering and not outcome.plans:
        outcome.wrong.append(UNTESTED)
    return outcome


async def _play(
    story: Story, mode: str, make: Make, limit: float, settings: dict[str, Any]
) -> Outcome:
    outcome = Outcome()
    async with rig_of(**settings) as rig:
        before = looks(rig.scheduler)
        plugin = make(mode)
        session = await put_on(rig, plugin)
        began = time.perf_counter()
        try:
            outcome.result = await asyncio.wait_for(story(rig), limit)
        except TimeoutError:
            outcome.wrong.append(f"hangs: {standing(rig.scheduler, session)}")
        except Exception as error:
            outcome.wrong.append(f"raised {error!r}")
        outcome.wall = time.perf_counter() - began
        outcome.notes = notes(session)
        if plugin is not None and isinstance(plugin.advisor, Planner):
            outcome.plans = len(plugin.advisor.plans)
        await inspect(rig, plugin, session, outcome, before)
    return outcome


async def put_on(rig: Rig, plugin: OrchestratorPlugin | None) -> Session | None:
    if plugin is None:
        return None
    advisor = plugin.advisor
    if isinstance(advisor, Planner):
        advisor.jobs = rig.jobs
    await rig.scheduler.register_scheduler_plugin(plugin, idempotent=True)
    session = plugin.session
    assert session is not None
    await session.advisory.wait_ready(WHOLE)
    if isinstance(advisor, Planner):
        rig.planned = lambda: unfinished(advisor, rig)
    return session


def unfinished(planner: Planner, rig: Rig) -> Counter[str]:
    """How many planned tasks of each worker have no output yet."""
    rows = planner.plans[-1].assignments if planner.plans else ()
    return Counter(row.worker for row in rows if row.task not in rig.watcher.finished)


async def inspect(
    rig: Rig,
    plugin: OrchestratorPlugin | None,
    session: Session | None,
    outcome: Outcome,
    before: dict[str, set[str]],
) -> None:
    """State and books agree, nothing is left behind, and the cluster still works."""
    scheduler = rig.scheduler
    check(outcome, "scheduler state", scheduler.validate_state)
    if plugin is not None and session is not None:
        broken = session.steering.follower.check()
        if broken:
            outcome.wrong.append(f"books: {broken}")
        scheduler.remove_plugin(plugin.name)
        if not await session.advisory.wait_closed(WHOLE):
            outcome.wrong.append("the advisor was not closed")
        outcome.wrong += left(scheduler, session, before)
    if outcome.result is not None:
        await works(rig, outcome)


async def works(rig: Rig, outcome: Outcome) -> None:
    jobs = make_jobs("after", 8)
    try:
        numbers = await asyncio.wait_for(rig.numbers(rig.start(jobs), jobs), WHOLE)
    except Exception as error:
        outcome.wrong.append(f"the cluster is broken afterwards: {error!r}")
        return
    if numbers != expected(jobs):
        outcome.wrong.append("wrong results afterwards")


def expected(jobs: dict[str, Any]) -> dict[str, int]:
    """What the last outputs of the jobs have to be."""
    numbers = results_of(jobs)
    return {key: numbers[key] for key in sinks(jobs)}


def check(outcome: Outcome, what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except Exception as error:
        outcome.wrong.append(f"{what}: {error!r}")


def looks(scheduler: Scheduler) -> dict[str, set[str]]:
    """Everything of a scheduler that a plugin could hang itself onto, by name."""
    stealing = scheduler.extensions["stealing"]
    return {
        "attributes": ours_in(scheduler),
        "stealing": ours_in(stealing),
        "handlers": {*scheduler.handlers, *scheduler.stream_handlers},
        "plugins": set(scheduler.plugins),
        "extensions": set(scheduler.extensions),
        "callbacks": set(scheduler.periodic_callbacks),
    }


def ours_in(owner: object) -> set[str]:
    """Functions that were put on this very object."""
    methods = {name for name in vars(owner) if callable(getattr(type(owner), name, None))}
    mine = {
        name
        for name, value in vars(owner).items()
        if str(getattr(value, "__module__", "")).startswith("orchestrator_core")
    }
    return methods | mine


def left(scheduler: Scheduler, session: Session, before: dict[str, set[str]]) -> list[str]:
    """What the plugin left behind."""
    now = looks(scheduler)
    wrong = [f"left in {w}: {now[w] ^ before[w]}" for w in now if now[w] != before[w]]
    stuck = [k for k, ts in scheduler.tasks.items() if ts.state == "no-worker"]
    pinned = [k for k, ts in scheduler.tasks.items() if ts.worker_restrictions]
    if stuck and scheduler.running:
        wrong.append(f"tasks without a worker: {stuck[:5]}")
    if pinned:
        wrong.append(f"restricted tasks: {pinned[:5]}")
    if len(session.steering.follower):
        wrong.append(f"{len(session.steering.follower)} keys are still planned")
    return wrong


def notes(session: Session | None) -> str:
    """What became of the plans."""
    if session is None:
        return ""
    disabled = session.steering.follower.disabled
    said = [f"withdrew: {disabled}"] if disabled else []
    for run in session.runs:
        said.append(f"open: {'planned' if run.adopted else run.reason}, {run.notes[-3:]}")
    return "; ".join(said)


def standing(scheduler: Scheduler, session: Session | None) -> str:
    """How far things are, for a story that hangs."""
    states = Counter(ts.state for ts in scheduler.tasks.values())
    stages = Counter()  # type: ignore[var-annotated]
    if session is not None:
        follower = session.steering.follower
        stages = Counter(str(follower.stage(k)) for k in scheduler.tasks)
    workers = {str(ws.name): ws.status.name for ws in scheduler.workers.values()}
    return f"tasks {dict(states)}, stages {dict(stages)}, workers {workers}, {notes(session)}"
