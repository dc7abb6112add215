"""Settings of a runner: copied, compared, and left at home."""

from __future__ import annotations

import inspect
import pickle
import pickletools
from typing import Any

import cloudpickle
import pytest
from prefect_dask import DaskTaskRunner

from orchestrator_prefect import OptimizedTaskRunner

from .conftest import Advisor


class FakeCluster:
    """As much of a Dask cluster as a runner that never starts looks at."""

    scheduler_address = "tcp://somewhere:8786"


ADVISOR = Advisor()
SETTINGS: list[dict[str, Any]] = [
    {},
    {"address": "tcp://a:1", "client_kwargs": {"name": "me"}},
    {"cluster": FakeCluster(), "adapt_kwargs": {"maximum": 2}},
    {"cluster_class": "distributed.LocalCluster", "cluster_kwargs": {"n_workers": 3}},
    {"performance_report_path": "report.html"},
    {"store": "x.db", "mode": "restrict", "report": False, "advisor": ADVISOR},
]


def test_it_takes_all_that_a_dask_task_runner_takes() -> None:
    theirs = list(inspect.signature(DaskTaskRunner).parameters)
    ours = inspect.signature(OptimizedTaskRunner).parameters
    assert list(ours)[: len(theirs)] == theirs
    assert {ours[name].kind for name in list(ours)[len(theirs) :]} == {
        inspect.Parameter.KEYWORD_ONLY
    }


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(settings) or "none")
def test_a_duplicate_has_the_same_settings_and_nothing_else(settings: dict[str, Any]) -> None:
    runner = OptimizedTaskRunner(**settings)
    copy = runner.duplicate()
    assert copy is not runner
    assert copy == runner
    assert copy._cluster is runner._cluster
    assert copy.performance_report_path == runner.performance_report_path
    assert copy._settings is not runner._settings


def test_runners_are_equal_when_all_their_settings_are() -> None:
    runners = [OptimizedTaskRunner(**settings) for settings in SETTINGS]
    for i, one in enumerate(runners):
        assert [one == other for other in runners].index(True) == i
        assert sum(one == other for other in runners) == 1
    assert OptimizedTaskRunner() != "a runner"


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(settings) or "none")
def test_it_travels_as_a_plain_runner(settings: dict[str, Any]) -> None:
    runner = OptimizedTaskRunner(**settings)
    sent = cloudpickle.dumps(runner)
    mentioned = [str(argument) for _, argument, _ in pickletools.genops(sent)]
    assert not [each for each in mentioned if "orchestrator" in each]
    arrived = pickle.loads(sent)
    assert type(arrived) is DaskTaskRunner
    assert arrived.client_kwargs == runner.client_kwargs
    assert arrived.address == (
        FakeCluster.scheduler_address if "cluster" in settings else (settings.get("address"))
    )


def test_it_must_be_started() -> None:
    with pytest.raises(RuntimeError, match="must be started before submitting"):
        OptimizedTaskRunner().submit(None, {})
