"""Estimates: what a user believes of tasks that never ran, by the task's name.

    @optimized_flow(estimates={"load": 5, "train": "2min ± 20s", "score": {"memory": "2 GiB"}})

They are believed until something was learned, as every hint of seconds is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.graphs.hints import Hint, hint_of
from orchestrator_core.graph.text import shown

BELIEFS = ("seconds", "spread", "memory", "output_bytes")
"""What may be said of a task."""

_PLUS_MINUS = re.compile(r"±|\+/?-")


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is believed of a task.

    Attributes:
        hint: seconds on a worker of speed 1, bytes.
        spread: standard deviation of its seconds; 0 where none is stated.
    """

    hint: Hint
    spread: float = 0.0


def read_estimates(stated: Mapping[str, Any]) -> dict[str, Estimate]:
    """The estimates by name of the task.

    Raises:
        InvalidInput: for one that makes no sense, naming the task and what is possible.
    """
    if not isinstance(stated, Mapping):
        raise InvalidInput(f"estimates = {shown(stated)}: expected seconds by name of the task")
    found: dict[str, Estimate] = {}
    for task, value in stated.items():
        try:
            found[_name(task)] = _estimate(value)
        except InvalidInput as error:
            raise InvalidInput(f"estimates of task {shown(task)}: {error}") from None
    return found


def _name(task: object) -> str:
    if not isinstance(task, str):
        raise InvalidInput("the name of a task is text")
    return task


def _estimate(value: object) -> Estimate:
    stated = dict(value) if isinstance(value, Mapping) else {"seconds": value}
    unknown = [name for name in stated if name not in BELIEFS]
    if unknown:
        raise InvalidInput(f"nobody asks for {shown(unknown[0])}; there are {', '.join(BELIEFS)}")
    said = _with_spread(stated)
    spread = hint_of({"seconds": said.pop("spread", 0.0)}).seconds or 0.0
    hint = hint_of(said)
    if spread and not hint.seconds:
        raise InvalidInput("a spread needs seconds > 0 beside it")
    return Estimate(hint, spread)


def _with_spread(said: Mapping[str, object]) -> dict[str, object]:
    """Of seconds such as ``30 ± 5s``, what comes after the sign is the spread."""
    text = said.get("seconds")
    parts = [part.strip() for part in _PLUS_MINUS.split(text)] if isinstance(text, str) else []
    if len(parts) < 2:
        return dict(said)
    if len(parts) > 2:
        raise InvalidInput(f"{shown(text)}: expected seconds, or text such as '30s ± 5s'")
    if "spread" in said:
        raise InvalidInput(f"{shown(text)}: there is a spread beside it, too")
    return {**said, "seconds": parts[0], "spread": parts[1]}
