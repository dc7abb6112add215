"""Options: what is said in the code about how a flow is planned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Literal

from orchestrator_core.settings import SETTINGS, Level, Source, checked_in_code
from orchestrator_core.settings.source import mapping
from orchestrator_prefect.settings.estimates import Estimate, read_estimates

Mode = Literal["auto", "director", "restrict", "observe", "off"]


@dataclass(frozen=True)
class Options:
    """Arguments of the decorator or of a task runner; None for what is not said there.

    Attributes:
        store, mode, objective, deadline, max_price, report: see `orchestrator_core.settings`.
        estimates: what is believed of tasks that never ran; see `estimates`.

    Raises:
        InvalidInput: naming the argument that makes no sense, and what is possible.
    """

    # It may hold a password.
    store: str | os.PathLike[str] | None = field(default=None, repr=False)
    mode: Mode | None = None
    objective: str | tuple[str, ...] | None = None
    deadline: float | str | timedelta | None = None
    max_price: float | None = None
    report: bool | None = None
    estimates: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, value in self._said().items():
            checked_in_code(SETTINGS[name], value, name)
        self.beliefs()

    def source(self, level: Level, where: str) -> Source:
        """What is said here, for `settings.find`."""
        return mapping(level, self._said(), where)

    def beliefs(self) -> dict[str, Estimate]:
        """The estimates, by name of the task."""
        return {} if self.estimates is None else read_estimates(self.estimates)

    def _said(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        del values["estimates"]
        return {name: value for name, value in values.items() if value is not None}
