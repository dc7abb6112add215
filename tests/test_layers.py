"""The import rule of `pyproject.toml` holds, covers every module, and can be broken."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
LAYERS, PREFECT, PLAN, DASK, CONDUCTOR = (
    [module.strip(" ()") for line in contract["layers"] for module in line.split("|")]
    for contract in CONTRACTS["importlinter"]["contracts"][:5]
)
DASK_PARTS = "orchestrator_core.execute.dask"


def check_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sysconfig.get_path("scripts")) / "lint-imports", "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_nobody_imports_against_the_rule() -> None:
    done = check_imports(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("package", "layers"),
    [("orchestrator_core", LAYERS), ("orchestrator_prefect", PREFECT), (DASK_PARTS, DASK)],
)
def test_every_module_stands_in_a_layer(package: str, layers: list[str]) -> None:
    entries = ROOT.joinpath(*package.split(".")).iterdir()
    modules = {
        path.stem for path in entries if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    layered = {name.removeprefix(f"{package}.") for name in layers}
    assert modules - {"__init__", "__main__"} <= layered


@pytest.mark.parametrize(
    ("module", "line", "verdict"),
    [
        ("orchestrator_core.graph", "import json", "0 broken"),
        ("orchestrator_core.plan", "import orchestrator_core.costs", "0 broken"),
        ("orchestrator_core.costs", "import orchestrator_core.plan", "1 broken"),
        ("orchestrator_core.learn", "import orchestrator_core.store", "1 broken"),
        ("orchestrator_core.store", "import sqlalchemy", "0 broken"),
        ("orchestrator_core.plan", "import sqlalchemy", "1 broken"),
        ("orchestrator_core.plan.search", "import orchestrator_core.plan.engine", "0 broken"),
        ("orchestrator_core.plan.engine", "import orchestrator_core.plan.search", "1 broken"),
        (f"{DASK_PARTS}.watch", f"import {DASK_PARTS}.steer", "0 broken"),
        (f"{DASK_PARTS}.steer", f"import {DASK_PARTS}.watch", "1 broken"),
        (f"{DASK_PARTS}.scaling", f"import {DASK_PARTS}.plans", "1 broken"),
        ("orchestrator_prefect.ahead", "import orchestrator_prefect.runs", "0 broken"),
        ("orchestrator_prefect.runs", "import orchestrator_prefect.ahead", "1 broken"),
        ("orchestrator_core.costs", "def late():\n    import jax", "1 broken"),
    ],
)
def test_the_rule_notices(tmp_path: Path, module: str, line: str, verdict: str) -> None:
    shutil.copy2(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    for name in ["orchestrator_core", *LAYERS, *PREFECT, *PLAN, DASK_PARTS, *DASK, *CONDUCTOR]:
        package = tmp_path.joinpath(*name.split("."))
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path.joinpath(*module.split(".")) / "__init__.py").write_text(line, encoding="utf-8")
    assert verdict in check_imports(tmp_path).stdout
