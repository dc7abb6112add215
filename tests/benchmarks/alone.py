"""Dask left alone, simulated and real: `./dev bench alone [--repeats N]`.

Every decision compares a plan with what Dask would do by itself, which is simulated. Each case runs
some times on real workers, whose tasks sleep, and is simulated as often; what Dask sees no
difference between, and the moments at which it steals, are chance in both.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.config

import orchestrator_core as oc

SHOWS_ITSELF = True

SEEDS = 40


@dataclass(frozen=True)
class Step:
    """A sleeping task; kinds take as long as each other."""

    name: str
    kind: str
    seconds: float
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """Tasks, the threads of each worker, and what is set under ``distributed.scheduler``."""

    name: str
    threads: tuple[int, ...]
    steps: tuple[Step, ...]
    settings: tuple[tuple[str, Any], ...] = ()


def alike(tasks: int, seconds: float) -> tuple[Step, ...]:
    """Independent tasks of one kind."""
    return tuple(Step(f"t{i}", "alike", seconds) for i in range(tasks))


def fan(tasks: int, seconds: float) -> tuple[Step, ...]:
    """Tasks that read the output of one."""
    readers = (Step(f"r{i}", "reader", seconds, ("root",)) for i in range(tasks))
    return (Step("root", "root", 0.3), *readers)


def chains(number: int) -> tuple[Step, ...]:
    """Chains of three."""
    lengths = (("first", 0.3), ("second", 0.5), ("third", 0.2))
    return tuple(
        Step(f"{kind}{i}", kind, seconds, (f"{lengths[j - 1][0]}{i}",) if j else ())
        for i in range(number)
        for j, (kind, seconds) in enumerate(lengths)
    )


def tree(leaves: int) -> tuple[Step, ...]:
    """Sums of two."""
    level = [Step(f"leaf{i}", "leaf", 0.3) for i in range(leaves)]
    steps = list(level)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [Step(f"{a.name}+{b.name}", "sum", 0.4, (a.name, b.name)) for a, b in pairs]
        steps += level
    return tuple(steps)


CASES = (
    Case("40 alike, 1 + 8 threads", (1, 8), alike(40, 0.3)),
    Case("60 alike, 2 + 8 threads", (2, 8), alike(60, 0.3)),
    Case("40 alike, 4 + 4 threads", (4, 4), alike(40, 0.3)),
    Case("8 alike, 1 + 8 threads", (1, 8), alike(8, 0.5)),
    Case("12 alike, 1 + 1 + 8 threads", (1, 1, 8), alike(12, 0.5)),
    Case("fan of 6, 4 workers", (1, 1, 1, 1), fan(6, 0.6)),
    Case("fan of 8, 2 + 2 threads", (2, 2), fan(8, 0.3)),
    Case("fan of 12, 4 + 4 threads", (4, 4), fan(12, 0.3)),
    Case("5 chains, 1 + 3 threads", (1, 3), chains(5)),
    Case("6 chains, 2 + 2 threads", (2, 2), chains(6)),
    Case("tree of 16, 2 + 2 threads", (2, 2), tree(16)),
    Case("fan of 6, never stolen", (1, 1, 1, 1), fan(6, 0.6), (("work-stealing", False),)),
    Case("fan of 6, stolen each 0.1 s", (1,) * 4, fan(6, 0.6), (("work-stealing-interval", 100),)),
    Case("40 alike, sent at once", (1, 8), alike(40, 0.3), (("worker-saturation", "inf"),)),
    Case("40 alike, 2 a thread", (1, 8), alike(40, 0.3), (("worker-saturation", 2.0),)),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("alone")
    group.add_argument("--repeats", type=int, default=8, help="real runs a case; default: 8")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    print(f"{'seconds, mean (least to most)':<30} {'real':>20} {'simulated':>20} {'off':>6}")
    rows = [_row(case, options.repeats) for case in CASES]
    off = [abs(row["off"]) for row in rows]
    summary = {"median_off": statistics.median(off), "largest_off": max(off)}
    print("off: {median_off:.0%} median, {largest_off:.0%} most".format(**summary))
    return {"rows": rows, **summary}


def _row(case: Case, repeats: int) -> dict[str, Any]:
    settings = {f"distributed.scheduler.{name}": value for name, value in case.settings}
    with dask.config.set(settings):
        took, simulated = _real(case, repeats), _simulated(case)
    off = statistics.mean(simulated) / statistics.mean(took) - 1.0
    print(
        f"{case.name:<30} {_said(took):>20} {_said(simulated):>20} {100 * off:>+4.0f} %", flush=True
    )
    return {"case": case.name, "real": took, "simulated": simulated, "off": round(off, 4)}


def _said(seconds: Sequence[float]) -> str:
    return f"{statistics.mean(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def _simulated(case: Case) -> list[float]:
    from orchestrator_core.execute.simulate import simulate_default

    graph = oc.TaskGraph.build()
    for step in case.steps:
        graph.task(step.name, kind=step.kind, seconds=step.seconds, after=list(step.after))
    workers = [oc.Worker(f"w{i}", threads=threads) for i, threads in enumerate(case.threads)]
    instance = oc.Instance.price(graph.done(), oc.Cluster(workers))
    return [round(simulate_default(instance, seed=seed).makespan, 3) for seed in range(SEEDS)]


def _real(case: Case, repeats: int) -> list[float]:
    """The first run, in which Dask learns how long kinds take, does not count."""
    from distributed import Client, Scheduler, SpecCluster, Worker

    workers = {
        f"w{i}": {"cls": Worker, "options": {"nthreads": threads}}
        for i, threads in enumerate(case.threads)
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "dashboard_address": ":0"}}
    dice = random.Random(1)
    with (
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs=40) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        client.wait_for_workers(len(workers))
        took = [_run(client, case, f"{number}") for number in range(repeats + 1) if _rest(dice)]
    return took[1:]


def _rest(dice: random.Random) -> bool:
    """So that runs do not begin in step with the scheduler's timer."""
    time.sleep(dice.random())
    return True


def _run(client: Any, case: Case, tag: str) -> float:
    graph = {
        f"{step.kind}-{tag}-{step.name}": (
            _sleep,
            step.seconds,
            *(_key(case, tag, name) for name in step.after),
        )
        for step in case.steps
    }
    begun = time.perf_counter()
    client.get(graph, list(graph))
    return round(time.perf_counter() - begun, 3)


def _key(case: Case, tag: str, name: str) -> str:
    kind = next(step.kind for step in case.steps if step.name == name)
    return f"{kind}-{tag}-{name}"


def _sleep(seconds: float, *inputs: float) -> float:
    time.sleep(seconds)
    return seconds
