"""Dask's tests beside the package that is installed, which comes without them; run in a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import distributed

from tests.benchmarks._outcomes import Outcomes, compared, outcomes_of
from tests.benchmarks.dask_tests.preload import FOLLOW

ROOT = Path(__file__).resolve().parents[3]
PRELOAD = "tests.benchmarks.dask_tests.preload"
BESIDE = ("conftest.py", "pyproject.toml", "distributed/pytest_resourceleaks.py")
"""What the tests need of the clone, beside themselves."""

SETTINGS = {"addopts": "", "filterwarnings": "", "timeout": "60", "timeout_method": "signal"}
"""Instead of Dask's own, which makes errors of warnings."""

PLUGINS = ("no:asyncio", "no:cacheprovider", "tests.benchmarks.dask_tests.ahead")
"""Of pytest."""


def run(clone: Path, files: Sequence[str], only: str, follow: bool) -> dict[str, Any]:
    """Both runs, and what differs."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        _lay_out(home, clone)
        plain = _outcomes(home, "plain", files, only, {})
        extra = {"DASK_DISTRIBUTED__SCHEDULER__PRELOAD": repr([PRELOAD])}
        extra |= {FOLLOW: "1"} if follow else {}
        ours = _outcomes(home, "ours", files, only, extra)
    return compared(plain, ours, "without the plugin", "with it")


def _lay_out(home: Path, clone: Path) -> None:
    shutil.copytree(Path(distributed.__file__).parent, home / "distributed")
    for name in BESIDE:
        shutil.copy(clone / name, home / name)
    for folder in (clone / "distributed").rglob("tests"):
        shutil.copytree(folder, home / folder.relative_to(clone))


def _outcomes(
    home: Path, run: str, files: Sequence[str], only: str, extra: Mapping[str, str]
) -> Outcomes:
    path = os.pathsep.join((str(home), str(ROOT)))
    report = home / f"{run}.xml"
    command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", "-k", only]
    command += [f"-p{name}" for name in PLUGINS]
    command += [f"--override-ini={name}={value}" for name, value in SETTINGS.items()]
    subprocess.run(
        [*command, *(f"distributed/{name}" for name in files)],
        cwd=home,
        env={**os.environ, "PYTHONPATH": path, **extra},
        stdout=subprocess.DEVNULL,
        check=False,  # tests may fail: which, the report says
    )
    return outcomes_of(report)
