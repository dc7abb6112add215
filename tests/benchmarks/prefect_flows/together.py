"""Several flows at a time on one cluster, stock prefect-dask and ours by turns.

They are started at once, or so many seconds one after the other. Each has a database of its own,
and was observed alone and planned alone before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.benchmarks.prefect_flows.choice import chosen
from tests.benchmarks.prefect_flows.compare import import_prefect
from tests.benchmarks.prefect_flows.once import Order, Ran, run_apart

ALONE = 2
"""Runs of ours before: one is observed, one is planned."""


def compare_together(
    plain: Any, own: Any, options: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Ratios of ours to stock's, medians of pairs: of the mean of the lengths, of the longest.

    Args:
        plain, own: clients of the cluster of stock prefect-dask, and of ours.
    """
    for client in (plain, own):
        client.run(import_prefect)
    data = None if options.data is None else str(options.data)
    stock = [
        Order(each.name, data, options.trace_tasks, plain.scheduler.address, None)
        for each in chosen(options)
    ]
    ours = [
        replace(order, address=own.scheduler.address, store=str(folder / f"{i}.db"))
        for i, order in enumerate(stock)
    ]
    alone = [[run_apart(order) for _ in range(ALONE)][-1] for order in ours]
    print(f"planned alone: {_seconds(alone)} s", flush=True)
    apart = float(options.apart)
    pairs = [(_together(stock, apart), _together(ours, apart)) for _ in range(options.runs)]
    found = {
        "flows": [order.name for order in stock],
        "apart_s": apart,
        "alone_s": _seconds(alone),
        "stock_s": [_seconds(each) for each, _ in pairs],
        "ours_s": [_seconds(each) for _, each in pairs],
        "mean_ratio": _ratio(pairs, statistics.fmean),
        "longest_ratio": _ratio(pairs, max),
        "all_right": all(ran.right for pair in pairs for side in pair for ran in side),
    }
    print(found, flush=True)
    return found


def _together(orders: list[Order], apart: float) -> list[Ran]:
    """One process after the other is started, so many seconds apart."""
    started = []
    with ThreadPoolExecutor(len(orders)) as pool:
        for number, order in enumerate(orders):
            time.sleep(apart if number else 0.0)
            started.append(pool.submit(run_apart, order))
        return [each.result() for each in started]


def _seconds(found: list[Ran]) -> list[float]:
    return [round(ran.seconds, 2) for ran in found]


def _ratio(pairs: list[tuple[list[Ran], list[Ran]]], of: Any) -> float:
    return round(statistics.median(of(_seconds(b)) / of(_seconds(a)) for a, b in pairs), 3)
