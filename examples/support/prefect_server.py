"""A Prefect server of one's own, for as long as an example runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STARTING_SECONDS = 120.0


@dataclass
class PrefectServer:
    """A server process that was told to start; `wait` until it answers."""

    api: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> None:
        """Return when it is healthy.

        Raises:
            RuntimeError: if it ends or does not answer in time; with the end of what it printed.
        """
        deadline = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.api}/health", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        tail = self.log.read_text(encoding="utf-8", errors="replace")[-1500:]
        raise RuntimeError(f"no Prefect server came up at {self.api}; its last words:\n{tail}")


@contextmanager
def prefect_server(folder: Path) -> Iterator[PrefectServer]:
    """Start a server whose data lies in `folder`, stop it at the end.

    Prefect reads its settings from the environment when it is first imported, so enter this before
    importing it.
    """
    port = _free_port()
    api = f"http://127.0.0.1:{port}/api"
    os.environ |= {
        "PREFECT_HOME": str(folder / "prefect"),
        "PREFECT_API_URL": api,
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1"]
    log = folder / "prefect-server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port)], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield PrefectServer(api, process, log)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
