"""The wheel: complete, typed, and able to make a database from nothing but itself."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel, and borrows only its dependencies."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    inside = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(inside), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", str(wheel)], check=True)
    # A folder that a .pth file adds is searched last, and no .pth file inside it is read: so the
    # checkout, which an editable installation adds that way, stays unknown here.
    borrowed = sysconfig.get_path("purelib")
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(f"{borrowed}\n", encoding="utf-8")
    return inside


def run(command: list[str | Path], folder: Path) -> str:
    """Runs a command in an empty folder, as somebody who never saw the checkout."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_both_packages_their_types_and_the_migrations(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"orchestrator_core/__init__.py", "orchestrator_core/py.typed"} <= names
    assert {"orchestrator_prefect/__init__.py", "orchestrator_prefect/py.typed"} <= names
    migrations = "orchestrator_core/store/_migrations/"
    assert f"{migrations}env.py" in names
    assert [name for name in names if name.startswith(f"{migrations}versions/")]
    packages = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert packages == {"orchestrator_core", "orchestrator_prefect"}


def test_every_module_of_the_checkout_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for package in ("orchestrator_core", "orchestrator_prefect"):
        for module in (ROOT / package).rglob("*.py"):
            assert module.relative_to(ROOT).as_posix() in names


def test_the_installed_packages_come_from_the_wheel(python: Path, tmp_path: Path) -> None:
    for package in ("orchestrator_core", "orchestrator_prefect"):
        program = f"import {package}; print({package}.__file__)"
        origin = run([python, "-c", program], tmp_path).strip()
        assert Path(origin).is_relative_to(python.parents[1])


def test_the_entry_points_lead_to_what_they_name(python: Path, tmp_path: Path) -> None:
    program = (
        "from importlib.metadata import distribution\n"
        "for point in distribution('prefect-orchestrator').entry_points:\n"
        "    print(point.group, point.name, type(point.load()).__name__)\n"
    )
    points = {
        tuple(line.split()[:2]) for line in run([python, "-c", program], tmp_path).splitlines()
    }
    assert points == {
        ("console_scripts", "orchestrator"),
        ("dask_cli", "orchestrator"),
        ("prefect.collections", "orchestrator_prefect"),
    }


def test_a_database_is_made_from_an_empty_folder(python: Path, tmp_path: Path) -> None:
    database = tmp_path / "plans.db"
    orchestrator = python.parent / "orchestrator"
    run([orchestrator, "db", "upgrade", "--db", f"sqlite:///{database}"], tmp_path)
    with sqlite3.connect(database) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        versions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    connection.close()
    assert {"schedules", "runs"} <= tables
    assert len(versions) == 1
