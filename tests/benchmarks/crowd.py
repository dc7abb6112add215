"""Several graphs on one cluster at a time, ours beside plain Dask: `./dev bench crowd`.

Workers and workloads are those of `live`. All graphs of a case are submitted at once or one second
after the other, by one client or by one each; Dask lets those of a minute share. Runs alternate;
every graph was observed alone twice, and each of our runs knows those before it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator_core.orchestrate import advisor_for_store
from tests.benchmarks.live import made
from tests.benchmarks.live.cluster import MIXED, Running, running
from tests.benchmarks.live.run import counted, learn, steered, taken, wait_forgotten
from tests.benchmarks.live.workload import Key, Workload

SHOWS_ITSELF = True


@dataclass(frozen=True)
class Case:
    """Graphs by the names of their makers, seconds between two of them, and who submits them."""

    name: str
    graphs: tuple[str, ...]
    apart: float = 0.0
    clients: bool = False


CASES = (
    Case("three at once", ("layered", "montage", "heavy_tail")),
    Case("three, 1 s apart", ("layered", "montage", "heavy_tail"), apart=1.0),
    Case("three clients, 1 s apart", ("montage", "layered", "heavy_tail"), 1.0, clients=True),
    Case("five of a kind at once", ("layered",) * 5),
    Case("a chain, then fillers", ("chain", "heavy_tail", "heavy_tail"), apart=1.0),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("crowd")
    group.add_argument("--pairs", type=int, default=5, help="pairs of runs; default: 5")
    group.add_argument("--crowds", default="", help="some of the cases, by a part of their names")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    if options.pairs < 1:
        raise SystemExit(f"./dev bench crowd: --pairs {options.pairs}; expected 1 or more")
    os.environ.setdefault("ORCHESTRATOR_COMPILE", "wait")
    from orchestrator_core.plan.warm import warm_up

    warm_up()
    print(f"{'case':26} {'mean end':>9} {'last end':>9} {'worst':>7} {'planned':>8} {'moved':>6}")
    rows = []
    for case in CASES:
        if options.crowds in case.name:
            rows.append(_row(case, options.pairs))
            print(_shown(rows[-1]), flush=True)
    return {"rows": rows}


def _row(case: Case, pairs: int) -> dict[str, Any]:
    """Ratios of ours to plain Dask's, medians of pairs, and all ends in seconds."""
    graphs = [_named(getattr(made, name)(), f"-{i}") for i, name in enumerate(case.graphs)]
    with tempfile.TemporaryDirectory(prefix="orchestrator-bench-") as folder:
        store = Path(folder) / "learned.db"
        with running(MIXED, declare=True) as live:
            for graph in graphs:
                learn(live, graph, store)
        found = [_pair(case, graphs, store, number) for number in range(pairs)]
    plain, ours = [each[0] for each in found], [each[1] for each in found]

    def ratio(of: Callable[[Sequence[float]], float]) -> float:
        return statistics.median(of(b) / of(a) for a, b in zip(plain, ours, strict=True))

    reasons = [reason for each in found for reason in each[3]]
    typical = [
        [statistics.median(ends) for ends in zip(*side, strict=True)] for side in (plain, ours)
    ]
    return {
        **asdict(case),
        "mean": ratio(statistics.fmean),
        "last": ratio(lambda ends: max(end + case.apart * i for i, end in enumerate(ends))),
        "worst": max(b / a for a, b in zip(*typical, strict=True)),
        "plain_seconds": plain,
        "our_seconds": ours,
        "planned": statistics.fmean(reason.startswith("planned") for reason in reasons),
        "moved": statistics.median(each[2] for each in found),
        "reasons": Counter(reasons),
        "tasks": sum(len(graph.steps) for graph in graphs),
    }


def _shown(row: dict[str, Any]) -> str:
    return (
        f"{row['name']:26} {row['mean']:9.2f} {row['last']:9.2f} {row['worst']:7.2f} "
        f"{row['planned']:8.0%} {row['moved']:6.0f}"
    )


def _pair(
    case: Case, graphs: Sequence[Workload], store: Path, number: int
) -> tuple[list[float], list[float], float, list[str]]:
    """Ends of plain Dask's run and of ours, tasks that were moved, why runs were planned or not."""
    with running(MIXED, declare=True) as live:
        plain = [] if number % 2 else _ends(live, case, graphs)
        advisor = advisor_for_store(str(store))
        builds = taken(advisor)
        with steered(live, advisor) as plugin:
            ours = _ends(live, case, graphs)
            moved = counted(plugin)["moved"]
        reasons = [build().reason for build in builds]
        return plain or _ends(live, case, graphs), ours, moved, reasons


def _ends(live: Running, case: Case, graphs: Sequence[Workload]) -> list[float]:
    """Seconds from the submission of each graph until all of its outputs are there."""
    from distributed import wait

    begun, ended = [0.0] * len(graphs), [0.0] * len(graphs)
    futures: list[Any] = []

    def await_all(number: int) -> None:
        wait(futures[number])  # type: ignore[no-untyped-call]
        ended[number] = time.perf_counter()

    with _clients(live, len(graphs) if case.clients else 0) as clients:
        threads = []
        for number, graph in enumerate(graphs):
            if number:
                time.sleep(case.apart)
            begun[number] = time.perf_counter()
            client = clients[number % len(clients)]
            futures.append(client.get(graph.graph(), graph.wanted, sync=False))
            threads.append(threading.Thread(target=await_all, args=(number,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        futures.clear()
        wait_forgotten(live)
    return [end - begin for begin, end in zip(begun, ended, strict=True)]


@contextlib.contextmanager
def _clients(live: Running, number: int) -> Iterator[list[Any]]:
    """So many clients of the cluster; its own, if none is asked for."""
    from distributed import Client

    if not number:
        yield [live.client]
        return
    with contextlib.ExitStack() as stack:
        address = live.scheduler.address
        yield [stack.enter_context(Client(address, set_as_default=False)) for _ in range(number)]  # type: ignore[no-untyped-call]


def _named(workload: Workload, mark: str) -> Workload:
    """The same with other keys and other kinds of tasks: graphs must not share results."""

    def marked(key: Any) -> Key:
        kind, place = key
        return (f"{kind}{mark}", place)

    steps = {
        marked(key): replace(step, inputs=tuple(marked(each) for each in step.inputs))
        for key, step in workload.steps.items()
    }
    return Workload(f"{workload.name}{mark}", steps)
