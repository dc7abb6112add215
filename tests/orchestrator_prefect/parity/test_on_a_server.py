"""The table with a server of Prefect's own, as `prefect server start` runs it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from ..processes import ROOT, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    found = f"http://127.0.0.1:{port}/api"
    command = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port), "--no-ui"]
    settings = {**os.environ, "PREFECT_HOME": str(tmp_path)}
    settings.pop("PREFECT_API_URL", None)

    def answers() -> bool:
        try:
            with urlopen(f"{found}/health", timeout=5):
                return True
        except (URLError, OSError):
            return False

    process = subprocess.Popen(command, env=settings, stdout=subprocess.DEVNULL)
    try:
        until(answers, "the server answers")
        yield found
    finally:
        process.terminate()
        process.wait(60.0)


def test_the_table_holds_on_a_server(address: str, request: Any) -> None:
    table = str(Path(__file__).with_name("test_parity.py"))
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-q", "-m", "not slow", table]
    settings = {**os.environ, "ORCHESTRATOR_TEST_PREFECT_API_URL": address}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
