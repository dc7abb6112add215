"""The checks that a graph passes once, at the door."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.errors import InvalidGraph, InvalidInput
from orchestrator_core.graph.task_graph import Demand, Floats, Ints
from orchestrator_core.graph.text import ALLOWED, is_name, shown
from orchestrator_core.graph.text import MAX_NAME as MAX_NAME

MAX_COUNT = 10_000_000
"""Most instances of a task; a plan places each of them by itself."""


def check_names(
    names: tuple[str, ...], what: str = "task", error: type[InvalidInput] = InvalidGraph
) -> None:
    """Each name is a string that a screen, a file and a database can hold, and unique."""
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise error(
                f"{what} {position} is named {name!r}, a {type(name).__name__}; "
                "names are strings: use str(...)"
            )
        if not is_name(name):
            raise error(
                f"{what} {position} has the name {shown(name)} ({len(name)} characters); "
                f"it has to have {ALLOWED}"
            )
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise error(f"two {what}s are named {twice!r}; names are unique: rename one of them")


def check_labels(kinds: tuple[str, ...], demands: tuple[Demand, ...]) -> None:
    """Each kind, mode's name and eligible name is text that can be shown and stored."""
    labels = [("a kind", kind) for kind in kinds]
    labels += [("a mode", demand.name) for demand in demands if demand.name]
    labels += [("an eligible worker", name) for demand in demands for name in demand.eligible or ()]
    for what, label in labels:
        if not isinstance(label, str) or not is_name(label):
            raise InvalidGraph(f"{what} is named {shown(label)}; it has to be text of {ALLOWED}")


def check_columns(
    names: tuple[str, ...],
    modes_per_task: Ints,
    columns: dict[str, NDArray[Any]],
    checkpoint_sets: tuple[tuple[float, ...], ...],
    checkpoints_of: Ints,
) -> None:
    """Every number of every task makes sense."""
    _refuse(names, modes_per_task < 1, modes_per_task, "modes", "at least 1")
    for column in ("output_bytes", "release", "weight"):
        values = columns[column]
        _refuse(names, ~(np.isfinite(values) & (values >= 0)), values, column, "finite and >= 0")
    for column in ("deadline", "due"):
        values = columns[column]
        _refuse(names, ~(values >= 0), values, column, ">= 0, or none at all")
    count = columns["count"]
    _refuse(names, count < 1, count, "count", "at least 1")
    _refuse(names, count > MAX_COUNT, count, "count", f"at most {MAX_COUNT}")
    of_mode = tuple(np.repeat(np.arange(len(names)), modes_per_task).tolist())
    threads, memory, seconds = (columns[f"mode_{c}"] for c in ("threads", "memory", "seconds"))
    _refuse(names, threads < 1, threads, "threads", "at least 1", of_mode)
    _refuse(
        names, ~(np.isfinite(memory) & (memory >= 0)), memory, "memory", "finite and >= 0", of_mode
    )
    wrong = ~np.isnan(seconds) & ~(np.isfinite(seconds) & (seconds >= 0))
    _refuse(names, wrong, seconds, "seconds", "finite and >= 0, or none", of_mode)
    for k, points in enumerate(checkpoint_sets):
        if not _increasing_inside_unit(points):
            task = names[int(np.argmax(checkpoints_of == k))]
            raise InvalidGraph(
                f"task {task!r} has checkpoints {points}; they are fractions of its work, "
                "increasing, between 0 and 1"
            )


def _increasing_inside_unit(points: tuple[float, ...]) -> bool:
    fence = (0.0, *points, 1.0)
    return all(isinstance(b, Real) and a < b for a, b in pairwise(fence))


def _refuse(
    names: tuple[str, ...],
    wrong: NDArray[np.bool_],
    values: NDArray[Any],
    what: str,
    possible: str,
    task_of: tuple[int, ...] | None = None,
) -> None:
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    name = names[at if task_of is None else task_of[at]]
    raise InvalidGraph(f"task {name!r} has {what} = {values[at]:g}; it must be {possible}")


def check_edges(
    names: tuple[str, ...],
    producer: Ints,
    consumer: Ints,
    nbytes: Floats,
    multiplicity: Ints,
    count: Ints,
) -> None:
    """Edges, sorted by producer and consumer, join existing tasks once, and can be served."""
    n = len(names)
    for ends in (producer, consumer):
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            raise InvalidGraph(
                f"an edge names task number {ends[np.argmax(outside)]}; there are {n} tasks, "
                f"numbered 0 to {n - 1}"
            )

    def refuse(wrong: NDArray[np.bool_], message: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            a, b = producer[at], consumer[at]
            raise InvalidGraph(
                f"edge {names[a]!r} -> {names[b]!r} "
                + message.format(
                    size=nbytes[at], n=multiplicity[at], a=count[a], b=count[b], name=names[a]
                )
            )

    refuse(producer == consumer, "joins a task to itself; remove it")
    again = (producer[1:] == producer[:-1]) & (consumer[1:] == consumer[:-1])
    refuse(
        np.concatenate([[False], again]) if len(producer) else again,
        "is given twice; give it once, with the bytes of both",
    )
    sized = ~np.isnan(nbytes)
    refuse(
        sized & ~(np.isfinite(nbytes) & (nbytes >= 0)),
        "has nbytes = {size:g}; it must be finite and >= 0",
    )
    refuse(multiplicity < 1, "has multiplicity {n}; it must be at least 1")
    have = count[producer]
    # No more than one too many, so that the product stays exact.
    wanted = np.minimum(multiplicity, have + 1) * count[consumer]
    refuse(
        (multiplicity != have) & (wanted > have),
        "needs {n} outputs for each of {b} instances, but {name!r} has {a} instances; "
        "raise its count, or use multiplicity {a} to give all outputs to each instance",
    )
