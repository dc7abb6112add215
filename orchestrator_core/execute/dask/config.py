"""Settings of the plugin: its arguments, over Dask's configuration, under the kill switch.

Importing this module makes the defaults of `orchestrator.yaml` known to `dask.config`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast, get_args

import dask.config
from dask.utils import parse_timedelta

from orchestrator_core.errors import InvalidInput
from orchestrator_core.plan.objective import Objective

Mode = Literal["auto", "director", "restrict", "observe", "off"]
MODES: tuple[str, ...] = get_args(Mode)

KILL_SWITCH = "ORCHESTRATOR_MODE"
"""Environment variable of the scheduler process; beats arguments and configuration."""

(DEFAULTS,) = dask.config.collect_yaml([str(Path(__file__).with_name("orchestrator.yaml"))])

dask.config.update_defaults(DEFAULTS)


@dataclass(frozen=True, slots=True)
class Options:
    """What the plugin was made with; None asks Dask's configuration. Plain data: it is pickled.

    Attributes:
        mode: one of `MODES`. store: a database URL or a file.
        min_tasks: smaller graphs are left to Dask.
        max_tasks: larger graphs are left to Dask, too.
        min_gain: part of the default policy's makespan that a plan must save, in [0, 1).
        plan_wait: seconds that a graph's tasks wait for their plan.
        hung_after: seconds without a heartbeat after which a worker that a plan waits for is taken
            off the cluster; 0 for never.
        objective: what plans minimise, such as "price,makespan"; see `plan.objective`.
    """

    mode: str = "auto"
    store: str | None = None
    min_tasks: int | None = None
    min_gain: float | None = None
    plan_wait: float | None = None
    hung_after: float | None = None
    max_tasks: int | None = None
    objective: str | None = None

    def __post_init__(self) -> None:
        check_mode(self.mode, "mode")
        if self.min_tasks is not None and self.min_tasks < 1:
            raise InvalidInput(f"min_tasks must be >= 1, found {self.min_tasks!r}")
        if self.max_tasks is not None and self.max_tasks < 1:
            raise InvalidInput(f"max_tasks must be >= 1, found {self.max_tasks!r}")
        if self.min_gain is not None and not 0 <= self.min_gain < 1:
            raise InvalidInput(f"min_gain must be in [0, 1), found {self.min_gain!r}")
        if self.plan_wait is not None and self.plan_wait < 0:
            raise InvalidInput(f"plan_wait must be >= 0 seconds, found {self.plan_wait!r}")
        if self.hung_after is not None and self.hung_after < 0:
            raise InvalidInput(f"hung_after must be >= 0 seconds, found {self.hung_after!r}")
        if self.objective is not None:
            Objective.of(self.objective)

    @property
    def wishes(self) -> Mapping[str, Any]:
        """What an advisor is asked for beside its store: what differs from the defaults."""
        wishes = {"objective": self.objective, "min_gain": self.min_gain}
        defaults = {name: DEFAULTS["orchestrator"][name.replace("_", "-")] for name in wishes}
        return {k: v for k, v in wishes.items() if v is not None and v != defaults[k]}


def resolve(options: Options) -> Options:
    """The options with nothing left open but the store, which may stay None for the default.

    Raises:
        InvalidInput: for a mode or an objective that does not exist; it is named, with where it
            was found.
    """
    return Options(
        mode=_mode(options.mode),
        store=options.store if options.store is not None else _get("store"),
        min_tasks=int(_get("min-tasks") if options.min_tasks is None else options.min_tasks),
        max_tasks=int(_get("max-tasks") if options.max_tasks is None else options.max_tasks),
        min_gain=float(_get("min-gain") if options.min_gain is None else options.min_gain),
        plan_wait=float(
            parse_timedelta(_get("plan-wait") if options.plan_wait is None else options.plan_wait)
        ),
        hung_after=float(
            parse_timedelta(
                _get("hung-after") if options.hung_after is None else options.hung_after
            )
        ),
        objective=str(_get("objective") if options.objective is None else options.objective),
    )


def check_mode(mode: object, where: str) -> str:
    """The mode, if there is one of that name.

    Raises:
        InvalidInput: naming `where` it was found and the possible ones.
    """
    if mode not in MODES:
        raise InvalidInput(f"{where} = {mode!r} is no mode; choose one of {', '.join(MODES)}")
    return str(mode)


def advisor_factory() -> Callable[..., Any]:
    """The function that the configuration names in `orchestrator.advisor`.

    Raises:
        InvalidInput: if the name is not of the form ``package.module:function``.
        ImportError, AttributeError: if there is no such function.
    """
    name = _get("advisor")
    module, colon, function = str(name).partition(":")
    if not colon:
        raise InvalidInput(
            f"orchestrator.advisor = {name!r}; expected 'package.module:function', as in "
            "'orchestrator_core.orchestrate:advisor_for_store'"
        )
    return cast("Callable[..., Any]", getattr(import_module(module), function))


def _mode(argument: str) -> str:
    configured = _get("mode")
    # YAML reads a bare `off` as False.
    configured = "off" if configured is False else check_mode(configured, "orchestrator.mode")
    forced = os.environ.get(KILL_SWITCH)
    if forced:
        return check_mode(forced, KILL_SWITCH)
    if configured == "off":
        return configured
    return configured if argument == "auto" else argument


def _get(key: str) -> Any:
    # Whoever clears Dask's configuration clears our defaults with it; hence the second look.
    return dask.config.get(f"orchestrator.{key}", default=DEFAULTS["orchestrator"][key])
