"""The flow of the guide, run as the guide says: twice, against a Prefect server of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from support.prefect_server import prefect_server

FLOW = "pipeline"
ARTIFACTS = ("plan", "outcome")
QUIET = {"DASK_LOGGING__DISTRIBUTED": "critical", "ORCHESTRATOR_COMPILE": "wait"}


def run_twice(guide: Path, folder: Path, store: str) -> None:
    """Runs the guide's first snippet as `my_flow.py` in the folder, watched and then planned.

    The artifacts of the second run lie there afterwards, as `plan.md` and `outcome.md`.
    """
    code = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)[0]
    (folder / "my_flow.py").write_text(code, encoding="utf-8")
    with prefect_server(folder) as server:
        server.wait()
        environment = os.environ | QUIET | {"ORCHESTRATOR_DB": store}
        for _ in range(2):
            command = [sys.executable, "my_flow.py"]
            subprocess.run(command, cwd=folder, env=environment, check=True)
        for what in ARTIFACTS:
            (folder / f"{what}.md").write_text(_artifact(server.api, what), encoding="utf-8")


def _artifact(api: str, what: str) -> str:
    """The newest artifact of that name."""
    url = f"{api}/artifacts/orchestrator-{what}-{FLOW}/latest"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(json.load(answer)["data"])
