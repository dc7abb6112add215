"""Workloads that are made here: each has one difficulty for whoever places its tasks."""

from __future__ import annotations

import random

from tests.benchmarks.live.workload import Key, Step, Workload

MEGABYTE = 1_000_000
CHUNK = 2 * MEGABYTE
"""Of the reduction."""


def made() -> list[Workload]:
    """All of them; durations are in seconds at speed 1, each takes about 3 to 6 s in all."""
    return [chain(), layered(), montage(), heavy_tail(), transfers(), reduction()]


def chain() -> Workload:
    """A chain of 16 long tasks beside 100 fillers: whoever delays the chain pays for it."""
    steps: dict[Key, Step] = {}
    for i in range(16):
        steps[("chain", i)] = Step(0.8, inputs=(("chain", i - 1),) if i else ())
    return Workload("chain", steps | {("filler", i): Step(0.2) for i in range(100)})


def layered() -> Workload:
    """120 tasks with up to three inputs among the 25 before; a few take 20 times as long."""
    dice = random.Random(7)
    steps: dict[Key, Step] = {}
    for i in range(120):
        count = dice.randint(1, 3) if i >= 8 else 0
        near = dice.sample(range(max(0, i - 25), i), count)
        steps[("task", i)] = Step(
            dice.choice((0.05, 0.1, 0.2, 1.0)), inputs=tuple(("task", j) for j in sorted(near))
        )
    return Workload("layered", steps)


def montage(images: int = 20) -> Workload:
    """The shape of the Montage workflow: projections, differences, one fit, corrections, a sum."""
    dice = random.Random(7)
    steps: dict[Key, Step] = {}
    for i in range(images):
        steps[("project", i)] = Step(dice.uniform(0.3, 0.8))
    for i in range(2 * images):
        pair = (("project", i % images), ("project", (i * 7 + 3) % images))
        steps[("difference", i)] = Step(dice.uniform(0.05, 0.2), inputs=tuple(dict.fromkeys(pair)))
    fitted = tuple(("difference", i) for i in range(2 * images))
    steps[("fit", 0)] = Step(0.8, inputs=fitted)
    for i in range(images):
        steps[("correct", i)] = Step(dice.uniform(0.1, 0.3), inputs=(("fit", 0), ("project", i)))
    steps[("add", 0)] = Step(2.0, inputs=tuple(("correct", i) for i in range(images)))
    return Workload("montage", steps)


def heavy_tail() -> Workload:
    """80 independent tasks of very different lengths."""
    dice = random.Random(7)
    lengths = [min(3.0, dice.lognormvariate(-1.6, 1.0)) for _ in range(80)]
    return Workload("tail", {("one", i): Step(seconds) for i, seconds in enumerate(lengths)})


def transfers() -> Workload:
    """Six chains that exchange outputs of 30 MB."""
    steps: dict[Key, Step] = {}
    for i in range(6):
        for c in range(6):
            inputs = ((f"link{c}", i - 1),) if i else ()
            crossing = ((f"link{(c + 1) % 6}", i - 1),) if i and i % 3 == 0 else ()
            steps[(f"link{c}", i)] = Step(0.2, 30 * MEGABYTE, inputs + crossing)
    return Workload("transfers", steps)


def reduction(leaves: int = 256, indices: int = 6) -> Workload:
    """A tree of pairwise merges over loaded chunks, of which Dask loads too many: distributed#6360.

    All loads read the same few small tasks (an index, parameters); so many that Dask does not take
    the loads for roots. It sends all of them at once: siblings go to different workers, and the
    fast ones run ahead of the slow.
    """
    steps: dict[Key, Step] = {("index", i): Step(0.02) for i in range(indices)}
    read = tuple(steps)
    level: list[Key] = [("load", i) for i in range(leaves)]
    steps |= dict.fromkeys(level, Step(0.2, CHUNK, read))
    while len(level) > 1:
        pairs = [tuple(level[i : i + 2]) for i in range(0, len(level), 2)]
        level = [(f"merge{len(pairs)}", i) for i in range(len(pairs))]
        steps |= {key: Step(0.02, CHUNK, pair) for key, pair in zip(level, pairs, strict=True)}
    return Workload("reduction", {**steps, ("total", 0): Step(0.02, inputs=tuple(level))})
