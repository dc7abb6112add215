"""The command line as a whole: what it loads, how it fails, with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import orchestrator_core
from orchestrator_core import cli
from orchestrator_core.cli.app import run
from tests.cli.conftest import Invoke

STORED = ["runs", "report", "why", "whatif", "diff", "trace", "schedules"]
COMMANDS = ["plan", *STORED, "doctor", "db", "live"]
HEAVY = {
    "numba",
    "ortools",
    "sqlalchemy",
    "distributed",
    "dask",
    "prefect",
    "numpy",
    "jax",
    "scipy",
}

LOADED_BY_HELP = """
import json, sys
from orchestrator_core.cli.app import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]))
"""


def test_the_package_is_the_command_line_too() -> None:
    done = python("-m", "orchestrator_core", "--version")
    assert done.returncode == 0
    assert orchestrator_core.__version__ in done.stdout


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [["--help"], ["plan", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    done = python("-c", LOADED_BY_HELP, *words)
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    assert "typer" in loaded
    assert not HEAVY & set(loaded)


def test_help_names_every_command(invoke: Invoke) -> None:
    shown = invoke("--help")
    assert shown.code == 0
    assert all(f"  {name} " in shown.out for name in COMMANDS)


@pytest.mark.parametrize("command", [*([name] for name in COMMANDS), ["db", "upgrade"]])
def test_every_command_explains_itself(invoke: Invoke, command: list[str]) -> None:
    shown = invoke(*command, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert "Usage: orchestrator " + " ".join(command) in shown.out


@pytest.mark.parametrize("command", ["plan", *STORED, "doctor"])
def test_every_command_speaks_json(invoke: Invoke, command: str) -> None:
    assert "--json" in invoke(command, "--help").out


def test_the_version(invoke: Invoke) -> None:
    assert invoke("--version").out == f"orchestrator {orchestrator_core.__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["frob"],
        ["plan"],
        ["runs", "--limit", "0"],
        ["runs", "--limit", str(10**20)],
        ["schedules", "--limit", str(10**20)],
        ["runs", "--frob"],
        ["db", "frob"],
    ],
)
def test_wrong_usage_exits_with_2(invoke: Invoke, words: list[str]) -> None:
    failed = invoke(*words)
    assert failed.code == 2
    assert failed.err.startswith("Usage: orchestrator")


def test_a_slip_in_a_command_is_answered_with_the_command(invoke: Invoke) -> None:
    assert "Did you mean 'schedules'?" in invoke("schedule").err


def test_an_interrupt_exits_with_130(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("orchestrator_core.store.location.default_url", interrupt)
    assert invoke("db", "path").code == 130


def test_a_bug_is_one_line_and_says_where_to_look(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("orchestrator_core.store.location.default_url", broken)
    failed = invoke("db", "path")
    assert (failed.code, failed.out) == (1, "")
    assert len(failed.err.splitlines()) == 1
    assert "ZeroDivisionError: of all things" in failed.err
    assert "--debug" in failed.err
    with pytest.raises(ZeroDivisionError):
        run(["db", "path", "--debug"])


def test_an_error_is_one_line_on_stderr(invoke: Invoke) -> None:
    failed = invoke("report", "nothing")
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.startswith("error: no run 'nothing' is stored")
    assert "orchestrator runs" in failed.err
    assert len(failed.err.splitlines()) == 1


def test_the_console_script_passes_the_exit_code_on(tmp_path: Path) -> None:
    program = "import sys; from orchestrator_core.cli import main; sys.argv[1:] = ['frob']; main()"
    done = python("-c", program)
    assert (done.returncode, done.stdout) == (2, "")


def test_dask_gets_a_command_that_hands_everything_on(
    invoke: Invoke, capsys: pytest.CaptureFixture[str], database: Path
) -> None:
    assert isinstance(cli.dask_command, click.Command)
    with pytest.raises(SystemExit) as end:
        cli.dask_command.main(["db", "path", "--json"], prog_name="dask orchestrator")
    assert end.value.code == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(database)


def test_there_is_nothing_else_on_the_package() -> None:
    with pytest.raises(AttributeError, match="frob"):
        _ = cli.frob


def test_a_terminal_without_unicode_gets_no_traceback(tmp_path: Path) -> None:
    program = """
import sys
from orchestrator_core.cli.app import run
from orchestrator_core.cli.console import results
run(["--version"])
results().print("\\u2588 block")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(b"? block\n")
