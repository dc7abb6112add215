"""Settings of the plugin: its arguments, then as `orchestrator_core.settings` says.

Importing this module makes the defaults of `orchestrator.yaml` known to `dask.config`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import dask.config

from orchestrator_core.errors import InvalidInput
from orchestrator_core.settings import SETTINGS, Source, checked_in_code, find
from orchestrator_core.settings.dask_config import dask_config
from orchestrator_core.settings.environment import environment
from orchestrator_core.settings.pyproject import pyproject
from orchestrator_core.settings.source import mapping

(DEFAULTS,) = dask.config.collect_yaml([str(Path(__file__).with_name("orchestrator.yaml"))])

dask.config.update_defaults(DEFAULTS)


@dataclass(frozen=True, slots=True)
class Options:
    """What the plugin was made with; None asks Dask's configuration. Plain data: it is pickled.

    Attributes:
        mode: see `settings`. store: a database URL or a file.
        min_tasks: smaller graphs are left to Dask.
        max_tasks: larger graphs are left to Dask, too.
        min_gain: part of the default policy's makespan that a plan must save, in [0, 1).
        plan_wait: seconds that a graph's tasks wait for their plan.
        hung_after: seconds without a heartbeat after which a worker that a plan waits for is taken
            off the cluster; 0 for never.
        objective: what plans minimise, such as "price,makespan"; see `plan.objective`.
        max_price: what each graph may cost by the workers' prices.
    """

    mode: str = "auto"
    store: str | os.PathLike[str] | None = None
    min_tasks: int | None = None
    min_gain: float | None = None
    plan_wait: float | None = None
    hung_after: float | None = None
    max_tasks: int | None = None
    objective: str | None = None
    max_price: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None or name == "mode":
                checked_in_code(SETTINGS[name], value, name)

    @property
    def wishes(self) -> Mapping[str, Any]:
        """What an advisor is asked for beside its store: what differs from the defaults."""
        names = ("objective", "min_gain", "max_price")
        wishes = {name: getattr(self, name) for name in names}
        defaults = {name: DEFAULTS["orchestrator"][name.replace("_", "-")] for name in wishes}
        return {k: v for k, v in wishes.items() if v is not None and v != defaults[k]}


def resolve(options: Options) -> Options:
    """The options with nothing left open but the store, which may stay None for the default. What
    the environment or a configuration says and cannot be used is logged, and passed over."""
    stated = {name: value for name, value in asdict(options).items() if name != "mode"}
    sources = (mapping("call", stated, "{}"), *_around())
    found = {name: find(SETTINGS[name], sources).value for name in stated}
    return Options(mode=_mode(options.mode), **found)


def advisor_factory() -> Callable[..., Any]:
    """The function that the configuration names in `orchestrator.advisor`.

    Raises:
        InvalidInput: if the name is not of the form ``package.module:function``.
        ImportError, AttributeError: if there is no such function.
    """
    name = find(SETTINGS["advisor"], _around()).value
    module, colon, function = str(name).partition(":")
    if not colon:
        raise InvalidInput(
            f"orchestrator.advisor = {name!r}; expected 'package.module:function', as in "
            "'orchestrator_core.orchestrate:advisor_for_store'"
        )
    return cast("Callable[..., Any]", getattr(import_module(module), function))


def _mode(argument: str) -> str:
    """Whoever runs the scheduler may say ``off`` there, whatever the code says."""
    around = find(SETTINGS["mode"], _around())
    beaten = argument == "auto" or around.level == "environment" or around.value == "off"
    return str(around.value) if beaten else argument


def _around() -> tuple[Source, ...]:
    """Where this process finds settings that nobody gave as an argument."""
    return environment(), dask_config(), pyproject()
