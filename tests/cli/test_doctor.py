"""`orchestrator doctor`: each check finds what it looks for, and says how to mend it."""

from __future__ import annotations

import json
import tomllib
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import dask
import pytest

from orchestrator_core.cli.health import (
    dask_links,
    installed,
    jax_devices,
    prefect_server,
    probe,
    solver,
    variables,
)
from orchestrator_core.cli.health.check import Check, Verdict
from orchestrator_core.cli.health.writable import may_write
from orchestrator_core.plan import warm, warm_notes
from orchestrator_core.plan.engine.locked import locked
from orchestrator_core.plan.result import PlanResult
from tests.cli.conftest import Invoke
from tests.homeless import leave_home


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers in place of fresh interpreters."""
    config = {"address": None, "encrypted": False}
    monkeypatch.setattr(dask_links, "probe", lambda program: config)
    monkeypatch.setattr(jax_devices, "probe", lambda *_: ["0.10.2", ["cpu"], True])


def test_a_sound_installation_is_well(invoke: Invoke, quick: None) -> None:
    seen = invoke("doctor", "--json")
    found = json.loads(seen.out)
    assert (seen.code, found["ok"]) == (0, True)
    names = [check["name"] for check in found["checks"]]
    for name in ("Python", "prefect", "Prefect server", "solver", "database", "Dask's links"):
        assert name in names
    assert set(found["checks"][0]) == {"name", "verdict", "found", "mend"}


def test_a_setting_whose_value_makes_no_sense_is_found(
    invoke: Invoke, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_MODE", "banana")
    checks = json.loads(invoke("doctor", "--json").out)["checks"]
    (wrong,) = [check for check in checks if check["name"] == "settings"]
    assert wrong["verdict"] == "warning"
    assert "'banana' is no mode; choose one of auto" in wrong["found"]


def test_a_number_that_no_float_holds_is_a_value_that_makes_no_sense(
    invoke: Invoke, quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.orchestrator]\nmax_price = {10**400}\n")
    monkeypatch.chdir(tmp_path)
    checks = json.loads(invoke("doctor", "--json").out)["checks"]
    (wrong,) = [check for check in checks if check["name"] == "settings"]
    assert wrong["verdict"] == "warning"
    assert "max_price = a whole number of more than 308 digits is no number" in wrong["found"]


def test_variables_that_nobody_reads_are_named_with_what_was_meant() -> None:
    given = {
        "ORCHESTRATOR_STORE": "x.db",
        "ORCHESTRATOR_OBJECTVE": "price",
        "ORCHESTRATOR_WORKER_SPEED": "2",
        "ORCHESTRATOR_MODE": "off",
        "ORCHESTRATOR_CALIBRATE": "on",
        "HOME": "/",
    }
    objective, store = variables.check_variables(given)
    assert objective.found == "ORCHESTRATOR_OBJECTVE is no setting: nobody reads it"
    assert "did you mean ORCHESTRATOR_OBJECTIVE? `orchestrator config`" in objective.mend
    assert "did you mean ORCHESTRATOR_DB?" in store.mend
    assert {objective.verdict, store.verdict} == {Verdict.WARNING}


def test_names_in_files_that_nobody_reads_are_named_with_what_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How fast a worker is, each worker says itself: a file beside the flow says it of none."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.orchestrator]\nobjectve = 'price'\nmin-gain = 0.1\nmax_price = 3\nworker-speed = 2\n"
    )
    monkeypatch.chdir(tmp_path)
    said = {"mode": "off", "min_tasks": 3, "plan-wiat": 1, "worker": {"sped": 2, "speed": 2}}
    with dask.config.set({"orchestrator": said}):
        found = variables.check_names()
    assert [
        check.found.removesuffix(" is no setting there: nobody reads it") for check in found
    ] == [
        "pyproject.toml [tool.orchestrator] objectve",
        "pyproject.toml [tool.orchestrator] worker-speed",
        "Dask: orchestrator.plan-wiat",
        "Dask: orchestrator.worker.sped",
    ]
    assert found[0].mend.startswith("did you mean objective? ")
    assert found[2].mend.startswith("did you mean plan-wait? ")


@pytest.mark.parametrize(
    ("text", "trouble"),
    [("[tool.orchestrator\n", "cannot be read"), ("[tool]\norchestrator = 3\n", "is no table")],
)
def test_a_file_of_settings_that_cannot_be_read_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, trouble: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    (check,) = variables.check_names()
    assert check.verdict is Verdict.BAD
    assert trouble in check.found


def test_what_is_bad_is_marked_with_its_mend_and_exits_with_1(
    invoke: Invoke, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke("db", "upgrade")
    Path(json.loads(invoke("db", "path", "--json").out)["path"]).chmod(0o666)
    failed = invoke("doctor")
    assert failed.code == 1
    assert "✗ database file" in failed.out
    assert "→ type: chmod 600" in failed.out
    assert "must be mended" in failed.out


@pytest.mark.parametrize(
    ("module", "check"), [(solver, "check_solver"), (variables, "check_values")]
)
def test_a_check_that_breaks_is_bad_and_the_others_go_on(
    invoke: Invoke, quick: None, monkeypatch: pytest.MonkeyPatch, module: Any, check: str
) -> None:
    def broken() -> Check:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(module, check, broken)
    failed = invoke("doctor")
    assert failed.code == 1
    assert "ZeroDivisionError: of all things" in failed.out
    assert "JAX" in failed.out


def pretend(monkeypatch: pytest.MonkeyPatch, module: Any, **versions: str) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(module, "version", version)


def test_a_missing_or_old_package_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["dask>=2026.1", "numba>=0.61", 'jax>=0.10; extra == "jax"', "ortools>=9"]
    monkeypatch.setattr(installed, "requires", lambda _: needs)
    pretend(monkeypatch, installed, dask="2024.1", ortools="9.15")
    checks = {check.name: check for check in installed.check_packages()}
    assert {name: check.verdict for name, check in checks.items()} == {
        "dask": Verdict.BAD,
        "numba": Verdict.BAD,
        "ortools": Verdict.GOOD,
    }
    assert "2024.1 does not fit" in checks["dask"].found
    assert checks["numba"].mend == "type: pip install 'numba>=0.61'"


@pytest.mark.parametrize(
    ("fastapi", "verdict"),
    [("0.139.0", Verdict.GOOD), ("0.150.3", Verdict.GOOD), ("0.155.0", Verdict.BAD)],
)
def test_the_fastapi_that_breaks_prefect_is_known(
    monkeypatch: pytest.MonkeyPatch, fastapi: str, verdict: Verdict
) -> None:
    pretend(monkeypatch, prefect_server, fastapi=fastapi, prefect="3.8.8")
    check = prefect_server.check_prefect_server(deep=False)
    assert check.verdict is verdict
    assert ("fastapi>=0.139,<=0.150" in check.mend) == (verdict is Verdict.BAD)


def test_deep_asks_a_fresh_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(program: str) -> None:
        assert "prefect.server" in program
        raise probe.ProbeFailed("ImportError: cannot import name 'x'")

    monkeypatch.setattr(prefect_server, "probe", fails)
    check = prefect_server.check_prefect_server(deep=True)
    assert check.verdict is Verdict.BAD
    assert "cannot import name 'x'" in check.found


@pytest.mark.parametrize(
    ("address", "encrypted", "verdict"),
    [
        (None, False, Verdict.GOOD),
        ("tcp://127.0.0.1:8786", False, Verdict.GOOD),
        ("tcp://[::1]:8786", False, Verdict.GOOD),
        ("localhost:8786", False, Verdict.GOOD),
        ("inproc://10.0.0.5/1/1", False, Verdict.GOOD),
        ("tls://10.0.0.5:8786", False, Verdict.GOOD),
        ("tcp://10.0.0.5:8786", True, Verdict.GOOD),
        ("tcp://10.0.0.5:8786", False, Verdict.BAD),
        ("tcp://scheduler.example.com:8786", False, Verdict.BAD),
        ("10.0.0.5:8786", False, Verdict.BAD),
    ],
)
def test_a_scheduler_on_the_network_wants_encryption(
    address: str | None, encrypted: bool, verdict: Verdict
) -> None:
    assert dask_links.judge(address, encrypted).verdict is verdict


def test_dask_is_asked_for_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://10.0.0.5:8786")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "False")
    assert "10.0.0.5" in dask_links.check_dask_links().found
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "True")
    assert "are encrypted" in dask_links.check_dask_links().found


def test_a_solver_that_does_not_answer_or_answers_wrongly_is_bad(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from orchestrator_core.errors import PlanningFailed
    from orchestrator_core.plan import portfolio
    from orchestrator_core.plan.schedule import Assignment, Schedule

    def fails(*_: object) -> PlanResult:
        raise PlanningFailed("cpsat was killed after 20 s")

    monkeypatch.setattr(portfolio, "plan", fails)
    check = solver.check_solver()
    assert (check.verdict, "was killed" in check.found) == (Verdict.BAD, True)
    seconds = iter([100.0, 120.5])
    monkeypatch.setattr(solver, "clock", lambda: next(seconds))
    check = solver.check_solver()
    assert check.verdict is Verdict.WARNING, "a busy machine is no broken solver"
    assert "no answer within 20 s" in check.found
    monkeypatch.undo()
    slow = Schedule([Assignment("t0", "w0", 0.0, 3.0)])
    wrong = PlanResult(slow, 3.0, "CP-SAT", "cpsat", "", 0.1)
    monkeypatch.setattr(portfolio, "plan", lambda *_: wrong)
    check = solver.check_solver()
    assert check.verdict is Verdict.BAD
    assert "3 where 2 is optimal" in check.found


def test_a_place_for_compiled_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    assert solver.check_compiled_cache().verdict is Verdict.GOOD
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    check = solver.check_compiled_cache()
    assert check.verdict is Verdict.WARNING
    assert "NUMBA_CACHE_DIR" in check.mend


def test_without_a_home_there_is_no_place_for_compiled_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    leave_home(monkeypatch)
    check = solver.check_compiled_cache()
    assert check.verdict is Verdict.WARNING
    assert "NUMBA_CACHE_DIR" in check.mend
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert solver.check_compiled_cache().verdict is Verdict.GOOD


@pytest.mark.parametrize(
    ("there", "compiling", "said"),
    [
        (warm.PARTS, False, "all of it"),
        (warm.PARTS[:4], False, "4 of 11 parts; the rest is compiled by what plans first"),
        (warm.PARTS[:9], True, "9 of 11 parts; the rest is in the making"),
    ],
)
def test_how_much_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    there: tuple[str, ...],
    compiling: bool,
    said: str,
) -> None:
    monkeypatch.setattr(warm_notes, "folder", lambda: tmp_path)
    monkeypatch.setattr(warm_notes, "_there", set(there))
    with locked(tmp_path / "lock", wait=True) if compiling else nullcontext():
        check = solver.check_compiled_cache()
    assert check.verdict is Verdict.GOOD
    assert said in check.found


def test_jax_without_devices_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise probe.ProbeFailed("RuntimeError: no GPU")

    monkeypatch.setattr(jax_devices, "probe", fails)
    monkeypatch.setattr(jax_devices, "find_spec", lambda _: object())
    assert jax_devices.check_jax().verdict is Verdict.WARNING
    monkeypatch.setattr(jax_devices, "find_spec", lambda _: None)
    assert "optional" in jax_devices.check_jax().found


@pytest.mark.parametrize(("is_right", "verdict"), [(True, Verdict.GOOD), (False, Verdict.WARNING)])
def test_a_jax_that_computes_wrong_sums_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, is_right: bool, verdict: Verdict
) -> None:
    monkeypatch.setattr(jax_devices, "probe", lambda *_: ["0.10.2", ["cpu"], is_right])
    monkeypatch.setattr(jax_devices, "find_spec", lambda _: object())
    check = jax_devices.check_jax()
    assert check.verdict is verdict
    assert ("XLA_FLAGS" in check.mend) != is_right


def test_sums_that_are_asked_of_jax_are_right_without_the_library_that_is_not() -> None:
    """With its sums by XLA itself every version has them right."""
    flags = {"XLA_FLAGS": "--xla_cpu_experimental_ynn_fusion_type=-reduce"}
    assert probe.probe(jax_devices._DEVICES, flags)[2]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("raise ValueError('of all things')", "ValueError: of all things"),
        ("import sys; sys.exit(7)", "exited with 7"),
        ("print('no json')", "no answer"),
        ("pass", "no answer"),
    ],
)
def test_a_probe_that_fails_says_why(program: str, message: str) -> None:
    with pytest.raises(probe.ProbeFailed, match=message):
        probe.probe(program)


def test_a_probe_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SECONDS", 0.05)
    with pytest.raises(probe.ProbeFailed, match="no answer within"):
        probe.probe("import threading; threading.Event().wait()")


def test_a_probe_gives_the_last_line() -> None:
    program = "import os; print('noise'); print('[1, \"' + os.environ['X'] + '\"]')"
    assert probe.probe(program, {"X": "y"}) == [1, "y"]


def test_a_folder_in_which_no_file_can_be_made_is_found(
    invoke: Invoke, quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file stands where a folder would have to be; root, too, is stopped by that."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "file" / "runs.db"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    found = invoke("doctor", "--json")
    assert found.code == 1
    checks = {check["name"]: check for check in json.loads(found.out)["checks"]}
    assert checks["database"]["verdict"] == "bad"
    assert f"no file can be made in {tmp_path / 'file'}" in checks["database"]["found"]
    assert "set ORCHESTRATOR_DB to a path in one" in checks["database"]["mend"]
    assert checks["compiled code"]["verdict"] == "warning"
    assert "NUMBA_CACHE_DIR" in checks["compiled code"]["mend"]


@pytest.mark.parametrize(
    ("below", "may"), [("", True), ("new/deeper", True), ("file", False), ("file/below", False)]
)
def test_where_files_can_be_made(tmp_path: Path, below: str, may: bool) -> None:
    (tmp_path / "file").touch()
    assert may_write(tmp_path / below) is may
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only where there is /proc")
def test_rights_alone_do_not_make_a_folder_writable() -> None:
    assert not may_write(Path("/proc/orchestrator"))


def test_what_is_to_be_installed_is_on_an_index() -> None:
    """This package is on none, so its extras are named by what is in them."""
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    optional = extras["optional-dependencies"]
    texts = [
        path.read_text()
        for folder in ("orchestrator_core", "orchestrator_prefect", "examples", "docs")
        for path in (*(root / folder).rglob("*.py"), *(root / folder).rglob("*.md"))
    ]
    assert not [text for text in texts if f"{installed.DISTRIBUTION}[" in text]
    for extra in ("jax", "postgres"):
        (needed,) = optional[extra]
        assert any(f"pip install '{needed}'" in text for text in texts), needed
