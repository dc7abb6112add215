"""Pairs of runs: plain Dask's and ours, by turns, each pair on a cluster of its own.

Plain Dask takes workers that seem alike by the order of their addresses, so that on one cluster all
its runs have the same luck.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import groupby
from pathlib import Path

from tests.benchmarks.live.cluster import Running, running
from tests.benchmarks.live.row import Pair, Row
from tests.benchmarks.live.run import copy_of, learn, ours, plain
from tests.benchmarks.live.variants import Variant
from tests.benchmarks.live.workload import Workload

Opening = Callable[[], AbstractContextManager[Running]]

LEARNING_RUNS = 2
CHAIN_RUNS = 2
"""Times as many pairs of the chain, whose place under plain Dask is luck."""


def compare(
    variants: Sequence[Variant],
    workloads: dict[tuple[float, ...], list[Workload]],
    runs: int,
    declare: bool,
) -> Iterator[Row]:
    """Each workload in each variant."""
    for speeds, group in groupby(variants, key=lambda variant: variant.speeds):
        own, opening = list(group), partial(running, speeds, declare)
        for workload in workloads[speeds]:
            chosen = [each for each in own if each.traces or workload.group != "traces"]
            yield from _one(opening, workload, chosen, runs)


def _one(
    opening: Opening, workload: Workload, variants: Sequence[Variant], runs: int
) -> Iterator[Row]:
    """One workload: learned about once, then in all variants."""
    if not variants:
        return
    with tempfile.TemporaryDirectory(prefix="orchestrator-bench-") as folder:
        learned = Path(folder) / "learned.db"
        with opening() as live:
            learn(live, workload, learned, LEARNING_RUNS)
        for variant in variants:
            times = runs * (CHAIN_RUNS if workload.name == "chain" else 1)
            pairs = []
            for number in range(times):
                with opening() as live:
                    pairs.append(_pair(live, workload, variant, learned, number))
            yield Row(variant, workload, tuple(pairs))


def _pair(live: Running, workload: Workload, variant: Variant, learned: Path, pair: int) -> Pair:
    """The two runs; who is first changes from pair to pair.

    Where the costs are believed as learned, each run learns from the one before; else each knows
    what was learned at first, and the variant's mistake.
    """
    real = variant.happens(workload, pair)
    belief = variant.belief(pair) if variant.belief is not None else None
    continued = belief is None and real is workload
    name = variant.name if continued else f"{variant.name}-{pair}"
    store = learned.with_name(f"{name}.db")
    if not store.exists():
        store = copy_of(learned, name)
    if pair % 2:
        planned = ours(live, real, store, belief)
        return plain(live, real), planned
    default = plain(live, real)
    return default, ours(live, real, store, belief)
