"""From hints and pins to the columns of a `TaskGraph`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.task_graph import Demand, Floats

DEFAULTS = {
    "seconds": np.nan,
    "memory": 0.0,
    "output_bytes": 0.0,
    "release": 0.0,
    "deadline": np.inf,
    "due": np.inf,
    "weight": 1.0,
}
"""Columns of numbers that a hint may state, and what holds where none does."""

DATES = frozenset({"release", "deadline", "due"})


def columns_of(
    keys: Sequence[Key],
    hints: Mapping[Key, Hint],
    pins: Mapping[Key, Demand],
    elapsed: float = 0.0,
) -> dict[str, Any]:
    """The columns of these n tasks that differ from the defaults, as `TaskGraph.from_columns`
    takes them, `elapsed` seconds after dates began to count. A pin of the user's comes before a
    hint."""
    columns: dict[str, Any] = {}
    if hints or pins:
        none = Demand()
        asked = {key: pins.get(key) or _demand(hint) for key, hint in hints.items()}
        columns["demands"] = [asked.get(key) or pins.get(key) or none for key in keys]
    for name, default in DEFAULTS.items() if hints else ():
        column = _column(name, default, keys, hints)
        columns[name] = np.maximum(0.0, column - elapsed) if name in DATES else column
    return columns


def _demand(hint: Hint) -> Demand:
    return Demand(eligible=hint.workers, resources=hint.resources)


def _column(name: str, default: float, keys: Sequence[Key], hints: Mapping[Key, Hint]) -> Floats:
    column = np.full(len(keys), default)
    for i, key in enumerate(keys):
        stated = getattr(hints[key], name) if key in hints else None
        if stated is not None:
            column[i] = stated
    return column
