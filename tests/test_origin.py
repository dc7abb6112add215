"""Where code stands, said so that it is the same wherever it runs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core import origin
from orchestrator_core.origin import origin_of, place_of


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    origin._in_project.cache_clear()


def code_in(path: Path, name: str = "etl") -> Any:
    """A function of that name whose code stands in this file."""
    found: dict[str, Any] = {}
    exec(compile(f"def {name}(): ...", str(path), "exec"), found)
    return found[name]


def test_a_project_begins_where_one_of_its_files_lies(tmp_path: Path) -> None:
    flows = tmp_path / "sales" / "flows"
    flows.mkdir(parents=True)
    (tmp_path / "sales" / "prefect.yaml").touch()
    assert origin_of(code_in(flows / "etl.py")) == "sales/flows/etl.py:etl"


def test_a_project_is_called_what_it_calls_itself_wherever_it_is_cloned(tmp_path: Path) -> None:
    for clone in ("sales", "sales-main"):
        (tmp_path / clone).mkdir()
        (tmp_path / clone / "pyproject.toml").write_text('[project]\nname = "revenue"\n')
        assert place_of(str(tmp_path / clone / "etl.py")) == "revenue/etl.py"


@pytest.mark.parametrize("text", ["[project", "[project]\n", 'project = "x"\n', "\x00"])
def test_a_project_that_does_not_say_is_called_as_its_folder(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert place_of(str(tmp_path / "etl.py")) == f"{tmp_path.name}/etl.py"


def test_without_a_project_it_is_the_file_in_its_folder(tmp_path: Path) -> None:
    assert place_of(str(tmp_path / "jobs" / "etl.py")) == "jobs/etl.py"


def test_a_temporary_folder_has_no_name_that_stays() -> None:
    assert place_of("/elsewhere/tmpx1y2prefect/etl.py") == "etl.py"
    assert place_of("/elsewhere/etl.py") == "etl.py"
    assert place_of("/elsewhere/tmpx1y2prefect/sales/etl.py") == "sales/etl.py"


def test_what_is_installed_is_known_from_its_package_on() -> None:
    for root in ("/usr/lib/python3/dist-packages", "/srv/env/lib/python3.12/site-packages"):
        assert place_of(f"{root}/company/tasks.py") == "company/tasks.py"


def test_a_relative_path_is_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("jobs/etl.py") == place_of(str(tmp_path / "jobs" / "etl.py"))


def test_the_cells_of_a_notebook_are_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/me/models.ipynb")
    assert place_of("/tmp/ipykernel_42/17.py") == f"{tmp_path.name}/models.ipynb"
    monkeypatch.delenv("JPY_SESSION_NAME")
    assert place_of("<ipython-input-3>") == f"{tmp_path.name}/typed"


def test_a_decorated_function_is_known_by_itself(tmp_path: Path) -> None:
    function = code_in(tmp_path / "jobs" / "etl.py")
    wrapped = functools.wraps(function)(lambda: function())
    assert origin_of(wrapped) == origin_of(function) == "jobs/etl.py:etl"


def test_what_has_no_code_has_no_origin() -> None:
    assert [origin_of(each) for each in (None, functools.partial(print), 3)] == ["", "", ""]
