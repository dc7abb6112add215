"""A Prefect server of one's own, for as long as an example runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STARTING_SECONDS = 120.0


@contextmanager
def prefect_server(folder: Path, say: Callable[[str], None]) -> Iterator[str]:
    """Start a server whose data lies in `folder`; yields its API address and stops it again.

    Prefect's settings are taken from the environment when it is first imported, so enter this
    before importing it.

    Raises:
        RuntimeError: if the server does not answer; with the end of what it printed.
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
    log = folder / "prefect-server.log"
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1"]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "--port", str(port)], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            say("server    a Prefect server is starting (about 10 s)")
            _wait_until_healthy(server, api, log)
            yield api
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(server: subprocess.Popen[bytes], api: str, log: Path) -> None:
    deadline = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{api}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    server.kill()
    tail = log.read_text(encoding="utf-8", errors="replace")[-1500:]
    raise RuntimeError(f"the Prefect server did not start at {api}; its last words:\n{tail}")
