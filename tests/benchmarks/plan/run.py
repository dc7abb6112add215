"""Measures the chosen sets, one after the other."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from rich.console import Console

from tests.benchmarks.plan import pyjobshop, saga
from tests.benchmarks.plan.case import CaseSet, some_of
from tests.benchmarks.plan.row import Row, measured
from tests.benchmarks.plan.sets import all_sets
from tests.benchmarks.plan.show import show
from tests.benchmarks.plan.summary import by_group


def run_sets(options: argparse.Namespace) -> dict[str, Any]:
    """The rows and sums of each set, by its name."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    if not options.alone:
        for name, there in (("SAGA", saga.installed()), ("PyJobShop", pyjobshop.installed())):
            if not there:
                console.print(f"{name} is not installed: pip install -e '.\\[bench]'; its column -")
    results: dict[str, Any] = {}
    for chosen in _chosen(options):
        rows = _rows(console, chosen, options)
        if rows:
            sums = by_group(rows)
            show(console, chosen, rows, sums)
            results[chosen.name] = {"sums": sums, "rows": [row.as_json() for row in rows]}
    return results


def _chosen(options: argparse.Namespace) -> list[CaseSet]:
    sets = all_sets(options.data)
    if not options.sets:
        return sets
    by_name = {each.name: each for each in sets}
    return [by_name[name] for name in options.sets]


def _rows(console: Console, chosen: CaseSet, options: argparse.Namespace) -> list[Row]:
    seconds = chosen.seconds if options.seconds is None else options.seconds
    cases = some_of(chosen.cases, options.most, options.largest)
    threads = min(2, os.cpu_count() or 1)
    rows = []
    with console.status(chosen.title) as status:
        for number, case in enumerate(cases, 1):
            status.update(f"{chosen.title}: {number} of {len(cases)}, {case.name}")
            rows.append(measured(case, seconds, options.saga_seconds, options.alone, threads))
    return rows
