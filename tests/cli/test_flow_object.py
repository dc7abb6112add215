"""Flows in somebody's module: the module is imported, the flow is not run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator_core.cli.flow_object import flow_name
from orchestrator_core.cli.target import FlowTarget, is_flow
from orchestrator_core.errors import InvalidInput

FLOWS = """
class Flow:
    task_runner = None
    def __init__(self, name): self.name = name
    def __call__(self): raise SystemExit("the flow must not run")

first = Flow("the-first")
second = Flow("the-second")
number = 42
print("printed while importing")
"""


@pytest.fixture(autouse=True)
def imports_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    path = tmp_path / "my_flows.py"
    path.write_text(FLOWS, encoding="utf-8")
    return path


def test_a_flow_of_a_file_by_its_own_name(flows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert flow_name(FlowTarget(str(flows), "second"))[0] == "the-second"
    printed = capsys.readouterr()
    assert printed.out == "", "what a module prints must not get into JSON"
    assert "printed while importing" in printed.err


def test_a_flow_of_a_module_here(flows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(flows.parent)
    assert flow_name(FlowTarget("my_flows", "first"))[0] == "the-first"


def test_a_flow_of_no_file_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no file or module before the colon"):
        flow_name(FlowTarget("", "first"))


def test_the_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_flow.py").write_text(FLOWS, encoding="utf-8")
    path = tmp_path / "imports_it.py"
    path.write_text("from neighbour_of_flow import first as only\n", encoding="utf-8")
    assert flow_name(FlowTarget(str(path), ""))[0] == "the-first"


def test_a_file_named_as_a_module_of_python_does_not_replace_it(tmp_path: Path) -> None:
    import json

    path = tmp_path / "json.py"
    path.write_text(FLOWS, encoding="utf-8")
    assert flow_name(FlowTarget(str(path), "first"))[0] == "the-first"
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("third", "has no 'third'; give one of .*:first, .*:second"),
        ("number", "'number' in .* is no flow; give one of"),
        ("", "which flow of .*give one of"),
    ],
)
def test_what_is_no_flow_is_answered_with_those_that_are(
    flows: Path, attribute: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        flow_name(FlowTarget(str(flows), attribute))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "failed with ZeroDivisionError: division by zero"),
        ("def broken(:", "failed with SyntaxError"),
        ("import no_such_package_at_all", "failed with ModuleNotFoundError"),
        ("raise SystemExit(3)", "failed with SystemExit: 3"),
        ("x = 1", "no flow stands at its top level"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken_flow.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=message) as error:
        flow_name(FlowTarget(str(path), ""))
    assert str(path) in str(error.value)


def test_a_missing_file_or_module_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no file"):
        flow_name(FlowTarget(str(tmp_path / "missing.py"), "x"))
    for name in ("no_such_module_at_all", "json.no_such_part"):
        with pytest.raises(InvalidInput, match=f"there is no module '{name}'"):
            flow_name(FlowTarget(name, "x"))


@pytest.mark.parametrize(
    ("target", "flow"),
    [
        ("flows.py:main", FlowTarget("flows.py", "main")),
        ("flows.py", FlowTarget("flows.py", "")),
        ("/a/b:c/flows.py", FlowTarget("/a/b:c/flows.py", "")),
        ("package.module:main", FlowTarget("package.module", "main")),
        ("workflow.json", None),
        ("C:\\data\\workflow.json", None),
        ("ft06", None),
    ],
)
def test_what_a_target_means(target: str, flow: FlowTarget | None) -> None:
    assert is_flow(target) == flow


def test_a_file_with_a_colon_in_its_name_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run:one").write_text("1", encoding="utf-8")
    assert is_flow("run:one") is None
