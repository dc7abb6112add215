"""Which workers of one kind are not alike?

Machines that look the same differ where one is throttled, or shared with noisy neighbours. Each
task may have been seen once, on one worker, so means of workers differ by chance. A worker is told
apart from its kind only if three things hold:

- the model of `solver.py`, with a slowness for each worker, says that it differs by `LEAST` and by
  more than chance would make of so many workers (`CHANCE`). What the tasks of a worker have in
  common, such as a chain that stays where its data is, counts as chance (`ALIKE`), unless the same
  tasks ran on others as well;
- ranks say so too (`RANKED`): the model believes in distributions that tasks need not have;
- its name lasts: it is no address, and was met in more than one of several runs.

Those that are about as fast become one finer kind.
"""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np

from orchestrator_core.graph.finer_kind import finer_kind
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.comparison import Comparison
from orchestrator_core.learn.overhead import ENOUGH
from orchestrator_core.learn.solver import solve

LEAST = math.log(1.15)
"""Differences (log seconds) below this are none."""

CHANCE = 0.002
"""How often one of several equal workers may seem to differ, if the model is right."""

RANKED = 3.0
"""Standard deviations of the ranks by which a worker must differ."""

UNSURE = 2.5
"""Workers that differ by fewer are taken for equal while others are compared with them."""

FEW, MANY = 4, 64
"""Executions that a worker needs; workers of a kind that are looked at."""


def tell_apart(columns: Columns, overhead: Floats, prior: Floats) -> tuple[str, ...]:
    """The kind of each of `columns.names`: a finer one for workers that differ from theirs.

    Args:
        overhead, prior: as `solve` takes them.
    """
    found = [kind for kind, _ in columns.names]
    some = columns.thinned(ENOUGH)
    groups = _lasting(some)
    if not groups:
        return tuple(found)
    comparison = _compare(some, overhead, prior, groups)
    for kind, names in groups.items():
        for name, speed in _speeds(comparison, names).items():
            found[name] = finer_kind(kind, speed)
    return tuple(found)


def _lasting(columns: Columns) -> dict[str, list[int]]:
    """By kind, the positions in `names` of workers that can be compared and met again."""
    runs: dict[int, set[int]] = {}
    for name, run in set(zip(columns.name.tolist(), columns.run.tolist(), strict=True)):
        runs.setdefault(name, set()).add(run)
    seen = np.bincount(columns.name, minlength=len(columns.names))
    groups: dict[str, list[int]] = {}
    for kind in columns.worker_kinds:
        names = [i for i in runs if columns.names[i][0] == kind]
        several = len(set().union(*(runs[i] for i in names))) > 1
        lasting = [
            i
            for i in sorted(names)
            if "://" not in columns.names[i][1]
            and seen[i] >= FEW
            and (len(runs[i]) > 1 or not several)
        ]
        if 2 <= len(lasting) <= MANY:
            groups[kind] = lasting
    return groups


def _compare(
    columns: Columns, overhead: Floats, prior: Floats, groups: dict[str, list[int]]
) -> Comparison:
    """The model with a slowness for each of these workers, drawn to that of its kind."""
    coarse = solve(columns, overhead, prior, interaction=0.0)
    of_kind = dict(zip(columns.worker_kinds, coarse.worker.tolist(), strict=True))
    kinds = [kind for kind, _ in columns.names]
    units = list(kinds)
    for name in (i for names in groups.values() for i in names):
        units[name] = "\0".join(columns.names[name])
    each = columns.with_workers(units)
    drawn_to = np.array([of_kind[unit.split("\0")[0]] for unit in each.worker_kinds])
    effects = solve(each, overhead, drawn_to, interaction=0.0)
    unit: Ints = np.array([each.worker_kinds.index(unit) for unit in units], dtype=np.int64)
    return Comparison.of(each, effects, overhead, unit)


def _speeds(comparison: Comparison, names: list[int]) -> dict[int, float]:
    """The speeds of those that differ from most of these, which have speed 1."""
    middle = sorted(names, key=lambda name: comparison.slowness(name))[len(names) // 2]
    like = [
        name for name in names if name == middle or not _differs(comparison, name, [middle], UNSURE)
    ]
    sure = NormalDist().inv_cdf(1.0 - CHANCE / len(names))
    differing = [
        name
        for name in names
        if name not in like
        and _differs(comparison, name, like, sure)
        and comparison.ranked(name, like) >= RANKED
    ]
    usual = float(np.mean([comparison.slowness(name) for name in like]))
    return {
        name: math.exp(usual - float(np.mean([comparison.slowness(n) for n in group])))
        for group in _groups(comparison, differing)
        for name in group
    }


def _differs(comparison: Comparison, name: int, others: list[int], sure: float) -> bool:
    difference, deviation = comparison.difference([name], others)
    return abs(difference) >= max(LEAST, sure * deviation)


def _groups(comparison: Comparison, names: list[int]) -> list[list[int]]:
    """Neighbours in slowness, joined as long as two groups may be equal; the nearest first."""
    groups = [[name] for name in sorted(names, key=comparison.slowness)]
    while len(groups) > 1:
        apart = [comparison.difference(b, a) for a, b in itertools.pairwise(groups)]
        at = min(range(len(apart)), key=lambda i: apart[i][0])
        difference, deviation = apart[at]
        if difference >= max(LEAST, UNSURE * deviation):
            break
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return groups
