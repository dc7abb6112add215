"""What people write who are new to `@optimized_flow`, and what they are told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from prefect import flow
from prefect.context import FlowRunContext
from prefect.flows import Flow
from prefect.tasks import Task

from orchestrator_core.settings import SETTINGS

OF_CLUSTERS = ("n_workers", "threads_per_worker", "processes", "memory_limit", "dashboard_address")
"""Arguments of a `LocalCluster` that people give to the decorator."""


def refuse_no_function(given: Any) -> None:
    """What is decorated is a function.

    Raises:
        TypeError: for a flow or a task, of which there is no other flow to be made, and for what
            cannot be called.
    """
    if isinstance(given, Flow):
        raise TypeError(
            f"{given.name!r} is a flow already: put @optimized_flow in the place of @flow, not "
            "above it; it takes the same arguments"
        )
    if isinstance(given, Task):
        raise TypeError(f"{given.name!r} is a task: @optimized_flow makes a flow of a function")
    if not callable(given) and not isinstance(given, (classmethod, staticmethod)):
        raise TypeError(
            f"@optimized_flow makes a flow of a function, and {given!r} is none; its arguments are "
            'named, such as @optimized_flow(name="etl")'
        )


def refuse_flow_of(given: Flow[..., Any]) -> None:
    """No flow is made of a flow: it would run within itself.

    Raises:
        TypeError: if the flow that runs has this one for its function.
    """
    running = FlowRunContext.get()
    if running is not None and running.flow is not None and running.flow.fn is given:
        raise TypeError(
            f"{given.name!r} is a flow already: put @optimized_flow in the place of @flow, not "
            "below it; it takes the same arguments"
        )


def refuse_unknown(names: Iterable[str], decorator: Callable[..., Any]) -> None:
    """These arguments are those of `prefect.flow`, to which the decorator adds its own.

    Raises:
        TypeError: naming one that is not, and what is spelt like it.
    """
    ours = inspect.signature(decorator).parameters.values()
    known = [each.name for each in ours if each.kind is each.KEYWORD_ONLY]
    known += list(inspect.signature(type(flow).__call__).parameters)[2:]
    for name in names:
        if name not in known:
            raise TypeError(f"optimized_flow() has no argument {name!r}{_hint(name, known)}")


def _hint(name: str, known: list[str]) -> str:
    setting = SETTINGS.get(name)
    if setting is not None:
        return f"; it is set by {setting.variable}, as `orchestrator config` shows"
    if name in OF_CLUSTERS:
        return f"; it is one of the cluster's: cluster_kwargs={{{name!r}: ...}}"
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
