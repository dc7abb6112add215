"""FlowSettings: how one run of a flow is planned, from all places where that may be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator_core.settings import SETTINGS, Source, find
from orchestrator_core.settings.dask_config import dask_config
from orchestrator_core.settings.environment import environment
from orchestrator_core.settings.pyproject import pyproject
from orchestrator_prefect.settings.estimates import Estimate
from orchestrator_prefect.settings.options import Options
from orchestrator_prefect.settings.variables import Variables


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """What holds for one run; see `orchestrator_core.settings`.

    Attributes:
        deadline, budget: seconds, or None. max_price: money, or None.
        estimates: by name of the task.
    """

    store: str | None = field(repr=False)  # It may hold a password.
    mode: str
    objective: str
    deadline: float | None
    max_price: float | None
    budget: float | None
    min_gain: float
    report: bool
    wait_for_workers: bool
    argument_sizes: bool
    estimates: Mapping[str, Estimate]

    @staticmethod
    def of(call: Options, decorator: Options, prefect: Variables | None) -> FlowSettings:
        """The settings of a flow run whose runner and whose decorator were told these."""
        sources = (
            call.source("call", "{} of the task runner"),
            decorator.source("decorator", "{} of @optimized_flow"),
            environment(),
            dask_config(),
            *((prefect.source(),) if prefect is not None else ()),
            pyproject(),
        )
        return FlowSettings(**_found(sources), estimates={**decorator.beliefs(), **call.beliefs()})


def switched_off() -> bool:
    """Has whoever runs this process said that nothing is to be planned, nor asked for?"""
    return bool(find(SETTINGS["mode"], (environment(),)).value == "off")


def _found(sources: Sequence[Source]) -> dict[str, Any]:
    names = [name for name in FlowSettings.__dataclass_fields__ if name != "estimates"]
    return {name: find(SETTINGS[name], sources).value for name in names}
