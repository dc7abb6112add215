"""Where settings come from, and which of them wins."""

from __future__ import annotations

from typing import Any

import dask
import pytest

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.advice import NoAdvisor
from orchestrator_core.execute.dask.config import Options, advisor_factory, resolve
from orchestrator_core.execute.dask.plugin import OrchestratorPlugin


def test_defaults_come_from_the_file_beside_the_code() -> None:
    found = resolve(Options())
    assert (found.mode, found.store, found.min_tasks) == ("auto", None, 8)
    assert (found.min_gain, found.plan_wait, found.objective) == (0.05, 0.15, "makespan")
    assert found.wishes == {}


def test_defaults_survive_a_cleared_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(dask.config.config, "orchestrator", raising=False)
    assert resolve(Options()).min_tasks == 8


def test_arguments_beat_the_configuration() -> None:
    with dask.config.set({"orchestrator.min-tasks": 3, "orchestrator.store": "theirs.db"}):
        assert resolve(Options()).min_tasks == 3
        assert resolve(Options()).store == "theirs.db"
        assert resolve(Options(store="mine.db", min_tasks=5)).min_tasks == 5
        assert resolve(Options(store="mine.db")).store == "mine.db"


@pytest.mark.parametrize(
    ("argument", "configured", "environment", "used"),
    [
        ("auto", "auto", None, "auto"),
        ("auto", "observe", None, "observe"),
        ("director", "observe", None, "director"),
        ("director", "off", None, "off"),
        ("director", False, None, "off"),  # what YAML makes of a bare `off`
        ("director", "auto", "off", "off"),
        ("observe", "off", "director", "director"),
        ("off", "director", None, "off"),
    ],
)
def test_which_mode_wins(
    argument: str,
    configured: object,
    environment: str | None,
    used: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if environment is not None:
        monkeypatch.setenv("ORCHESTRATOR_MODE", environment)
    with dask.config.set({"orchestrator.mode": configured}):
        assert resolve(Options(mode=argument)).mode == used


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mode": "fast"}, "mode = 'fast' is no mode; choose one of auto, director"),
        ({"mode": None}, "mode = None is no mode"),
        ({"min_tasks": 0}, "min_tasks = 0 is no whole number >= 1"),
        ({"max_tasks": "many"}, "max_tasks = 'many' is no whole number"),
        ({"min_gain": 1.0}, "min_gain = 1.0 is no part >= 0 and < 1"),
        ({"plan_wait": -1.0}, "plan_wait = -1.0 is no time"),
        ({"hung_after": float("nan")}, "hung_after = nan is no time >= 0"),
        ({"hung_after": -1}, "hung_after = -1 is no time >= 0"),
        ({"objective": 5}, "objective = 5 is no objective"),
        ({"store": 5}, "store is no text; expected a URL or a path"),
        ({"store": ""}, "store is no text"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Options(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"store": 5}, "store is no text"),
        ({"advisor": 5}, "advisor = 5 cannot be asked; .* advise and record"),
        ({"advisor": NoAdvisor}, "advisor = .* is a class; give an object of it"),
    ],
)
def test_a_plugin_is_refused_where_it_is_made(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        OrchestratorPlugin(**given)
    with pytest.raises(InvalidInput, match="store is no text"):
        OrchestratorPlugin(5)  # type: ignore[arg-type]


def test_what_cannot_be_is_named_with_its_place_and_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As by flows, and as `orchestrator config` says."""
    monkeypatch.setattr("orchestrator_core.settings.found._told", set())
    with dask.config.set({"orchestrator.mode": "fast"}):
        assert resolve(Options()).mode == "auto"
        assert resolve(Options(mode="observe")).mode == "observe"
    monkeypatch.setenv("ORCHESTRATOR_MODE", "faster")
    monkeypatch.setenv("ORCHESTRATOR_MIN_GAIN", "abc")
    assert resolve(Options()) == resolve(Options(mode="auto", min_gain=0.05))
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(" is ")[0] for line in told] == [
        "orchestrator.mode = 'fast'",
        "ORCHESTRATOR_MIN_GAIN = 'abc'",
        "ORCHESTRATOR_MODE = 'faster'",
    ]
    assert all(line.endswith("it is passed over") for line in told)


def test_the_advisor_is_named_by_module_and_function() -> None:
    with dask.config.set({"orchestrator.advisor": "operator:neg"}):
        assert advisor_factory()(3) == -3  # type: ignore[arg-type]
    with (
        dask.config.set({"orchestrator.advisor": "operator.neg"}),
        pytest.raises(InvalidInput, match=r"package\.module:function"),
    ):
        advisor_factory()


def test_an_advisor_is_told_what_differs_from_the_defaults() -> None:
    with dask.config.set({"orchestrator.objective": "price,makespan"}):
        assert resolve(Options()).wishes == {"objective": "price,makespan"}
        assert resolve(Options(objective="makespan")).wishes == {}
    assert resolve(Options(min_gain=0.1)).wishes == {"min_gain": 0.1}
    with dask.config.set({"orchestrator.max-price": 2.5}):
        assert resolve(Options()).wishes == {"max_price": 2.5}
        assert resolve(Options(max_price=1.0)).wishes == {"max_price": 1.0}


def test_an_objective_that_there_is_not_is_named() -> None:
    with pytest.raises(InvalidInput, match="there is no criterion 'speed'; there are makespan"):
        Options(objective="speed")
