"""A plugin of pytest: in the modules of tests another decorator stands for `prefect.flow`.

Prefect's tests forget what was imported while they ran, so all is imported before, and the cluster
is there. They are a package `tests` of their own, so nothing of ours can be imported by that name.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from collections.abc import Generator
from types import ModuleType
from typing import Any

import dask
import distributed
import pytest
from distributed import LocalCluster
from prefect import flow
from prefect_dask import DaskTaskRunner

import orchestrator_core
import orchestrator_prefect

DECORATOR = "ORCHESTRATOR_BENCH_DECORATOR"
"""Environment variable: ``dask`` or ``optimized``."""

LEFT_OUT = ("__main__", "conductor", "cli", "jax", "tests", "dask.dataframe", "dask.array")
"""Modules that no flow of these tests needs."""


def _load(package: ModuleType) -> None:
    names = pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None)
    for found in names:
        if not any(word in found.name for word in LEFT_OUT):
            try:
                importlib.import_module(found.name)
            except ImportError:  # an optional part of Dask
                continue


for each in (orchestrator_core, orchestrator_prefect, dask, distributed):
    _load(each)
CLUSTER = LocalCluster(
    n_workers=2, threads_per_worker=4, processes=False, protocol="tcp", dashboard_address=":0"
)


@functools.wraps(flow)
def instead(fn: Any = None, **arguments: Any) -> Any:
    """`flow` on the cluster, unless a task runner is given."""
    if arguments.get("task_runner") is not None:
        made = flow(**arguments)
    elif os.environ[DECORATOR] == "dask":
        made = flow(task_runner=DaskTaskRunner(address=CLUSTER.scheduler_address), **arguments)
    else:
        address = CLUSTER.scheduler_address
        made = orchestrator_prefect.optimized_flow(address=address, **arguments)
    return made if fn is None else made(fn)


instead.from_source = flow.from_source  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule() -> Generator[None, Any, Any]:
    """Modules are imported when they are first asked for."""
    made = yield
    imported = made._getobj

    def changed() -> Any:
        module = imported()
        if getattr(module, "flow", None) is flow:
            module.flow = instead
        return module

    made._getobj = changed
    return made
