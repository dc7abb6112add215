"""The workloads and variants that were asked for."""

from __future__ import annotations

import argparse

from tests.benchmarks.live.made import made
from tests.benchmarks.live.traces import traces
from tests.benchmarks.live.variants import VARIANTS, Variant
from tests.benchmarks.live.workload import Workload


def chosen(
    options: argparse.Namespace,
) -> tuple[list[Variant], dict[tuple[float, ...], list[Workload]]]:
    """The variants, and the workloads for each set of speeds; SystemExit for an unknown name."""
    names = _words(options.variants)
    known = [each.name for each in VARIANTS]
    for name in names:
        if name not in known:
            raise SystemExit(f"./dev bench live: no variant {name!r}; there are {', '.join(known)}")
    variants = [each for each in VARIANTS if not names or each.name in names]
    workloads = {
        speeds: _some(options, [*made(), *traces(options.data, options.trace_tasks, speeds)])
        for speeds in {each.speeds for each in variants}
    }
    return variants, workloads


def _some(options: argparse.Namespace, workloads: list[Workload]) -> list[Workload]:
    words = _words(options.workloads)
    names = {each.name for each in workloads} & set(words)
    return [
        each.scaled(options.scale)
        for each in workloads
        if not words
        or each.name in names
        or each.group in words
        or any(each.name.startswith(word) for word in words if word not in names)
    ]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
