"""Row: a flow that is run under both decorators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """A flow and how it is called.

    Attributes:
        body: its function. options: for the decorator. arguments: for the call.
        raises: is it called as people call it, without asking for its state?
        report: does ours publish its own artifacts too?
        slow: is it left out of the daily run?
    """

    body: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[Any, ...] = ()
    raises: bool = False
    report: bool = False
    slow: bool = False

    def __str__(self) -> str:
        return str(getattr(self.body, "__name__", self.body))
