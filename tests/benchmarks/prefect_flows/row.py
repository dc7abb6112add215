"""Row: one flow, stock and ours."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Planned:
    """A planned run: seconds in the flow's body; promised, proven and recorded for its tasks, from
    the first submission to the last end; the bound is of any plan, at the durations expected."""

    seconds: float
    promised: float | None
    recorded: float
    cache: str
    bound: float | None

    @property
    def error(self) -> float | None:
        """Of the forecast, relative to it; None where the run was not planned."""
        return None if self.promised is None else self.recorded / self.promised - 1


@dataclass(frozen=True)
class Row:
    """Attributes:
    stock: seconds of each stock run. observed: of our first run. planned: our others, in order.
    is_right: every run had the right results.
    """

    name: str
    tasks: int
    stock: tuple[float, ...]
    observed: float
    planned: tuple[Planned, ...]
    is_right: bool

    @property
    def ratio(self) -> float:
        """Medians of the planned and of the stock runs, the first stock run left out."""
        ours = statistics.median(each.seconds for each in self.planned)
        return ours / statistics.median(self.stock[1:])

    @property
    def possible(self) -> float | None:
        """The ratio that no plan can beat: the bound of the last planned run to the stock runs."""
        bound = self.planned[-1].bound
        return None if bound is None else bound / statistics.median(self.stock[1:])

    @property
    def first(self) -> float:
        """The observed run to the median stock run."""
        return self.observed / statistics.median(self.stock)

    @property
    def third_error(self) -> float | None:
        """Of the forecast of the third run."""
        return self.planned[1].error if len(self.planned) > 1 else None

    def as_json(self) -> dict[str, Any]:
        return {
            "flow": self.name,
            "tasks": self.tasks,
            "stock_s": [round(each, 3) for each in self.stock],
            "observed_s": round(self.observed, 3),
            "planned_s": [round(each.seconds, 3) for each in self.planned],
            "errors": [each.error and round(each.error, 4) for each in self.planned],
            "caches": [each.cache for each in self.planned],
            "ratio": round(self.ratio, 3),
            "possible": self.possible and round(self.possible, 3),
            "first_run": round(self.first, 3),
            "right": self.is_right,
        }
