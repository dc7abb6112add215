"""`orchestrator config`: values, where they are from, and no password."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import pytest

from orchestrator_core.cli import config as command
from orchestrator_core.settings import SETTINGS
from orchestrator_core.settings.source import Source, mapping
from tests.cli.conftest import Invoke
from tests.homeless import leave_home


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings; Prefect has no server."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.orchestrator]\nobjective = "price"\nmax-price = 7\nbudget = 1\n'
    )
    monkeypatch.chdir(tmp_path)
    for name in ("ORCHESTRATOR_COMPILE", "ORCHESTRATOR_PLAN_CACHE"):
        monkeypatch.delenv(name, raising=False)
    asked_of_prefect(monkeypatch, None)
    return tmp_path


def asked_of_prefect(monkeypatch: pytest.MonkeyPatch, source: Source | None) -> None:
    module = SimpleNamespace(for_command_line=lambda: source)
    monkeypatch.setitem(sys.modules, command.PREFECT, module)  # type: ignore[arg-type]


def rows(invoke: Invoke) -> dict[str, dict[str, Any]]:
    found = json.loads(invoke("config", "--json").out)["settings"]
    return {row["setting"]: row for row in found}


def test_each_value_comes_with_its_origin(
    invoke: Invoke, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"min_gain": 0.3, "budget": 2.0, "deadline": "2min"}
    asked_of_prefect(monkeypatch, mapping("Prefect", variables, "variable orchestrator_{}"))
    monkeypatch.setenv("ORCHESTRATOR_DEADLINE", "90s")
    with dask.config.set({"orchestrator.budget": 3.0}):
        found = rows(invoke)
    assert {name: (row["value"], row["where"]) for name, row in found.items() if row["where"]} == {
        "store": (str(database), "ORCHESTRATOR_DB"),
        "deadline": (90.0, "ORCHESTRATOR_DEADLINE"),
        "budget": (3.0, "orchestrator.budget"),
        "min_gain": (0.3, "variable orchestrator_min_gain"),
        "objective": ("price", "pyproject.toml [tool.orchestrator] objective"),
        "max_price": (7.0, "pyproject.toml [tool.orchestrator] max-price"),
    }
    assert found["mode"] == {
        "setting": "mode",
        "value": "auto",
        "level": "default",
        "where": "",
        "meaning": SETTINGS["mode"].meaning,
    }
    assert list(found) == list(SETTINGS)


def test_the_table_has_the_same_and_says_where_it_looked(invoke: Invoke, project: Path) -> None:
    shown = invoke("config", "--show-origin")
    assert shown.code == 0
    assert "pyproject.toml [tool.orchestrator]" in shown.out
    assert f"pyproject.toml is {project / 'pyproject.toml'}" in shown.err
    assert "Prefect was not asked: no server is configured" in shown.err
    short = invoke("config")
    assert "pyproject.toml [tool.orchestrator]" not in short.out
    for each in SETTINGS:
        assert each in shown.out
        assert each in short.out


@pytest.mark.parametrize("how", [["config"], ["config", "--show-origin"], ["config", "--json"]])
def test_a_password_is_never_shown(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    for url in (
        "postgresql://me:hunter2@host/plans",
        "postgresql://host/plans?password=hunter2",
        "mysql://me:hunter2@host/plans",
        "postgresql://me:hunter2@host:port/plans",
    ):
        monkeypatch.setenv("ORCHESTRATOR_DB", url)
        shown = invoke(*how)
        assert "hunter2" not in shown.out + shown.err
        assert "store" in shown.out


def test_a_wrong_value_is_named_and_fails_the_command(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_OBJECTIVE", "speed")
    failed = invoke("config")
    assert failed.code == 1
    assert "ORCHESTRATOR_OBJECTIVE = 'speed' is no objective" in failed.err
    whole = invoke("config", "--json")
    assert whole.code == 1
    said = json.loads(whole.out)
    assert [row["value"] for row in said["settings"] if row["setting"] == "objective"] == ["price"]
    assert len(said["wrong"]) == 1


def test_it_works_where_prefect_is_not_installed(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, command.PREFECT, None)  # type: ignore[arg-type]
    assert invoke("config", "--show-origin").code == 0


def test_it_works_where_prefect_cannot_read_a_file(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect reads the same file when it is imported, and fails."""
    (tmp_path / "pyproject.toml").write_text("[tool.orchestrator\n")
    monkeypatch.chdir(tmp_path)

    def unable(name: str) -> None:
        raise ValueError("Failed to load Prefect settings from pyproject.toml")

    monkeypatch.setattr(command.importlib, "import_module", unable)
    told = invoke("config")
    assert told.code == 0
    assert "pyproject.toml cannot be read, so no setting is taken from it" in told.err
    assert "bug" not in told.err


def test_it_works_where_there_is_no_home(
    invoke: Invoke, project: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect cannot even be imported there."""
    leave_home(monkeypatch)
    told = invoke("config")
    assert told.code == 0
    assert "there is none; set HOME" in " ".join(told.out.split())
    monkeypatch.setenv("ORCHESTRATOR_DB", str(database))

    def unable(name: str) -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(command.importlib, "import_module", unable)
    assert invoke("config").code == 0


def test_a_path_at_home_is_short_for_people_and_whole_for_programs(
    invoke: Invoke, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(database.parents[1]))
    assert "~/data/schedules.db" in invoke("config").out
    store = json.loads(invoke("config", "--json").out)["settings"][0]
    assert (store["setting"], store["value"]) == ("store", str(database))


def test_a_narrow_terminal_is_left_to_values_and_origins(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    narrow = invoke("config", "--show-origin").out
    assert "meaning" not in narrow
    assert "pyproject.toml" in narrow
    assert max(map(len, narrow.splitlines())) <= 70
    assert "meaning" in invoke("config").out


def test_a_misspelt_variable_is_named_and_nothing_fails(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_MDOE", "off")
    shown = invoke("config")
    assert shown.code == 0
    assert "ORCHESTRATOR_MDOE is no setting: nobody reads it" in shown.err
    assert "did you mean ORCHESTRATOR_MODE?" in shown.err
    (unknown,) = json.loads(invoke("config", "--json").out)["unknown"]
    assert unknown == "ORCHESTRATOR_MDOE is no setting: nobody reads it"
