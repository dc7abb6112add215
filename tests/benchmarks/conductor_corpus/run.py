"""All cases of the chosen sets, several at a time."""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from tests.benchmarks.conductor_corpus.row import Row


class Job(NamedTuple):
    """One case under one transform, by names: processes find it in their own corpus."""

    set: str
    case: int
    transform: str
    precision: str


def run(options: argparse.Namespace) -> dict[str, Any]:
    """One row for each set and transform, printed as it is done."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    context = multiprocessing.get_context("spawn")
    rows = []
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        print(Row.HEAD, flush=True)
        for name, transform, jobs in _groups(options):
            rows.append(Row.of(name, transform, list(pool.map(_done, jobs))))
            print(rows[-1].text(), flush=True)
    return {"precision": options.precision, "rows": [row.as_json() for row in rows]}


def _groups(options: argparse.Namespace) -> Iterator[tuple[str, str, list[Job]]]:
    from tests.conductor.corpus.sets import SETS

    for name in options.corpus.split(";") if options.corpus else SETS:
        chosen = [
            n
            for n, case in enumerate(SETS[name].cases)
            if options.named in case.name and case in SETS[name].possible
        ]
        wanted = options.transforms.split(",") if options.transforms else SETS[name].transforms
        for transform in wanted:
            yield name, transform, [Job(name, n, transform, options.precision) for n in chosen]


def _done(job: Job) -> dict[str, Any]:
    """What came of it, as plain data."""
    from orchestrator_core.conductor import Goal
    from tests.conductor.corpus.examine import examined
    from tests.conductor.corpus.sets import SETS

    case = SETS[job.set].cases[job.case]
    try:
        outcome = examined(case, job.transform, Goal(always=True, precision=job.precision))
    except Exception as error:
        why = f"{type(error).__name__}: {str(error)[:300]}"
        return {"name": case.name, "is_right": False, "error": None, "why": why, "counts": False}
    return {
        "name": case.name,
        "is_right": outcome.verdict.is_right,
        "error": outcome.verdict.error,
        "why": outcome.verdict.why,
        "counts": outcome.was_pairwise and bool(case.is_tiled),
        "is_recognised": outcome.is_recognised,
    }
