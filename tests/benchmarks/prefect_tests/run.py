"""Both runs, each in a process, and what differs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks._outcomes import Outcomes, compared, outcomes_of

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = Path(__file__).parent / "plugin"


def run(clone: Path, files: Sequence[str], only: str) -> dict[str, Any]:
    """With prefect-dask, and with ours."""
    with tempfile.TemporaryDirectory() as folder:
        plain = _outcomes(clone, Path(folder), "dask", files, only)
        ours = _outcomes(clone, Path(folder), "optimized", files, only)
    return compared(plain, ours, "with a DaskTaskRunner", "with optimized_flow")


def _outcomes(
    clone: Path, folder: Path, decorator: str, files: Sequence[str], only: str
) -> Outcomes:
    report = folder / f"{decorator}.xml"
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-q", f"--junitxml={report}"]
    command += ["-pno:cacheprovider", "-pinstead_of_flow", "-k", only, "--timeout", "120"]
    path = (str(PLUGIN), str(ROOT), os.environ.get("PYTHONPATH", ""))
    changed = {
        "PYTHONPATH": os.pathsep.join(path),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "ORCHESTRATOR_BENCH_DECORATOR": decorator,
        "ORCHESTRATOR_STORE": f"sqlite:///{folder}/schedules.db",
    }
    done = subprocess.run(
        [*command, *(f"tests/{name}" for name in files)],
        cwd=clone,
        env={**os.environ, **changed},
        capture_output=True,
        text=True,
        check=False,  # tests may fail: which, the report says
    )
    if not report.exists():
        raise SystemExit(f"prefect_tests: pytest has not run\n{done.stdout}\n{done.stderr}")
    return outcomes_of(report)
