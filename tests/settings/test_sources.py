"""Where settings stand: the environment, Dask's configuration, pyproject.toml."""

from __future__ import annotations

import logging
from pathlib import Path

import dask
import pytest

from orchestrator_core.errors import StoreError
from orchestrator_core.execute.dask.config import DEFAULTS
from orchestrator_core.settings import SETTINGS, Source, Stated, find
from orchestrator_core.settings.dask_config import dask_config
from orchestrator_core.settings.environment import environment
from orchestrator_core.settings.pyproject import pyproject
from orchestrator_core.settings.source import mapping
from orchestrator_core.store.location import default_url

OBJECTIVE, STORE = SETTINGS["objective"], SETTINGS["store"]


def test_an_empty_variable_says_nothing() -> None:
    assert environment({"ORCHESTRATOR_OBJECTIVE": " "}).look(OBJECTIVE) is None
    said = environment({"ORCHESTRATOR_OBJECTIVE": " price "}).look(OBJECTIVE)
    assert said == Stated("price", "ORCHESTRATOR_OBJECTIVE")


def test_the_defaults_in_dasks_configuration_say_nothing() -> None:
    source = dask_config()
    for setting in SETTINGS.values():
        assert source.look(setting) is None, setting.name
    with dask.config.set({"orchestrator.min-gain": 0.2, "orchestrator.worker.speed": 2}):
        assert source.look(SETTINGS["min_gain"]) == Stated(0.2, "orchestrator.min-gain")
        assert source.look(SETTINGS["worker_speed"]) == Stated(2, "orchestrator.worker.speed")


def test_dasks_defaults_are_ours() -> None:
    for name, setting in SETTINGS.items():
        stated = DEFAULTS["orchestrator"].get(name.replace("_", "-"))
        if stated is not None:
            assert setting.read(stated) == setting.default, name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.orchestrator]\nobjective = ["price", "makespan"]\nmin-gain = 0.2\nmax_price = 3\n'
        'store = "plans.db"\n'
    )
    return tmp_path


def test_the_nearest_pyproject_counts(project: Path) -> None:
    source = pyproject(project / "deep" / "er")
    assert find(OBJECTIVE, [source]).value == "price,makespan"
    assert find(SETTINGS["min_gain"], [source]).value == 0.2
    found = find(SETTINGS["max_price"], [source])
    assert (found.value, found.level) == (3.0, "pyproject")
    assert found.where == "pyproject.toml [tool.orchestrator] max_price"
    (project / "deep" / "pyproject.toml").write_text("[tool.other]\nobjective = 'price'\n")
    assert pyproject(project / "deep" / "er").look(OBJECTIVE) is None


def test_a_path_counts_from_its_file_and_a_url_stays(project: Path) -> None:
    assert find(STORE, [pyproject(project / "deep")]).value == str(project / "plans.db")
    (project / "pyproject.toml").write_text('[tool.orchestrator]\nstore = "postgresql://h/db"\n')
    assert find(STORE, [pyproject(project / "deep")]).value == "postgresql://h/db"


@pytest.mark.parametrize("text", ["[tool", "tool = 3", "[tool]\norchestrator = 3", "\udcff"])
def test_a_file_that_holds_no_settings_says_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert pyproject(tmp_path).look(OBJECTIVE) is None


def test_the_default_database_is_the_one_that_is_set(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORCHESTRATOR_DB", raising=False)
    monkeypatch.chdir(project / "deep")
    assert default_url().database == str(project / "plans.db")
    with dask.config.set({"orchestrator.store": str(project / "dask.db")}):
        assert default_url().database == str(project / "dask.db")
        monkeypatch.setenv("ORCHESTRATOR_DB", str(project / "mine.db"))
        assert default_url().database == str(project / "mine.db")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:p@ss:word@host:port/x", "the database's URL cannot be read; .*%40 for @"),
        ("oracle://host/x", "oracle"),
    ],
)
def test_a_database_that_cannot_be_names_what_it_is_set_by(
    monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_DB", url)
    with pytest.raises(StoreError, match=f"ORCHESTRATOR_DB.*: .*{said}"):
        default_url()


def test_a_wrong_value_is_told_once_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    wrong = mapping("environment", {"objective": "speediest"}, "{} here")
    right = mapping("pyproject", {"objective": "price"}, "{} there")
    with caplog.at_level(logging.WARNING, "orchestrator"):
        for _ in range(2):
            found = find(OBJECTIVE, [wrong, right])
    assert (found.value, found.where) == ("price", "objective there")
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("objective here = 'speediest' is no objective")
    assert line.endswith("it is passed over")


def test_a_source_that_fails_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(setting: object) -> None:
        raise OSError("gone")

    right = mapping("pyproject", {"objective": "price"}, "{}")
    assert find(OBJECTIVE, [Source("Dask", broken), right]).value == "price"
    assert "Dask cannot be asked for objective" in caplog.text


def test_a_setting_is_asked_for_only_where_it_may_stand() -> None:
    def never(setting: object) -> None:
        raise AssertionError("a worker's kind is none of Prefect's business")

    assert find(SETTINGS["worker_kind"], [Source("Prefect", never)]).value is None


def test_the_environment_beats_the_code_in_the_mode_only() -> None:
    code = mapping("call", {"mode": "auto", "objective": "price"}, "{}")
    around = environment({"ORCHESTRATOR_MODE": "off", "ORCHESTRATOR_OBJECTIVE": "memory"})
    assert find(SETTINGS["mode"], [code, around]).value == "off"
    assert find(OBJECTIVE, [code, around]).value == "price"
