"""The name of a flow is read from its source where that tells it for certain, and nothing runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator_core.cli.flow_source import name_in_source
from orchestrator_core.cli.target import FlowTarget


def named(tmp_path: Path, text: str, attribute: str = "main") -> str | None:
    path = tmp_path / "my_flows.py"
    path.write_text(text, encoding="utf-8")
    return name_in_source(FlowTarget(str(path), attribute))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@flow\ndef main(): ...", "main"),
        ("@optimized_flow\ndef main(): ...", "main"),
        ("@optimized_flow()\nasync def main(x): ...", "main"),
        ("@prefect.flow(name='Mine', retries=2)\ndef main(): ...", "Mine"),
        ("raise SystemExit\n@flow(retries=2)\ndef main(): ...", "main"),
        ("@flow\ndef other(): ...\n@flow\ndef main(): ...\nmain()", "main"),
    ],
)
def test_a_flow_by_its_decorator(tmp_path: Path, text: str, name: str) -> None:
    assert named(tmp_path, text) == name


def test_underscores_are_dashes_as_in_prefect(tmp_path: Path) -> None:
    assert named(tmp_path, "@flow\ndef a_b(): ...", "a_b") == "a-b"


def test_the_name_is_the_one_that_prefect_gives(tmp_path: Path) -> None:
    from prefect import flow

    def my_own_flow() -> None: ...

    assert named(tmp_path, "@flow\ndef my_own_flow(): ...", "my_own_flow") == flow(my_own_flow).name


@pytest.mark.parametrize(
    "text",
    [
        "def main(): ...",
        "@task\ndef main(): ...",
        "@flow(name=NAME)\ndef main(): ...",
        "@flow(name=f'{x}')\ndef main(): ...",
        "@flow(name='')\ndef main(): ...",
        "@flow(**options)\ndef main(): ...",
        "@flow(other)\ndef main(): ...",
        "@cached\n@flow\ndef main(): ...",
        "@flow\ndef main(): ...\nmain = main.with_options(name='other')",
        "@flow\ndef main(): ...\nmain.name = 'other'",
        "@flow\ndef main(): ...\nif x:\n    @flow(name='y')\n    def main(): ...",
        "@flow\ndef main(): ...\nfor main in x: ...",
        "@flow\ndef main(): ...\nfrom elsewhere import *",
        "@flow\ndef main(): ...\nfrom elsewhere import x as main",
        "if x:\n    @flow\n    def main(): ...",
        "main = flow(work)",
        "@flow\ndef other(): ...",
        "def broken(:",
        "\0",
        "",
    ],
)
def test_what_is_not_certain_is_left_to_an_import(tmp_path: Path, text: str) -> None:
    assert named(tmp_path, text) is None


def test_a_module_here_and_one_in_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pack_of_flows").mkdir()
    (tmp_path / "pack_of_flows" / "__init__.py").write_text("raise SystemExit", encoding="utf-8")
    for place in ("alone_flow.py", "pack_of_flows/inside.py"):
        (tmp_path / place).write_text("@flow\ndef main(): ...", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert name_in_source(FlowTarget("alone_flow", "main")) == "main"
    assert name_in_source(FlowTarget("pack_of_flows.inside", "main")) == "main"
    for missing in ("nothing_here", "pack_of_flows.nothing", "alone_flow.main", "sys", "a..b", ""):
        assert name_in_source(FlowTarget(missing, "main")) is None


def test_a_known_flow_is_planned_without_prefect(tmp_path: Path) -> None:
    """To import that takes longer than the plan."""
    (tmp_path / "heavy_flow.py").write_text(
        "from prefect import flow\n@flow\ndef main(): ...", encoding="utf-8"
    )
    program = (
        "import sys; from orchestrator_core.cli.flow_object import flow_name;"
        "from orchestrator_core.cli.target import FlowTarget;"
        "print(flow_name(FlowTarget('heavy_flow.py', 'main'))[0], 'prefect' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "main False\n"
