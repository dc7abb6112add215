"""Questions as a user would ask them, and what is printed, in colours."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

COLUMNS = 100
MAIN = "import sys; from orchestrator_core.cli import main; sys.exit(main())"


def ask(command: str, folder: Path, settings: Mapping[str, str]) -> str:
    """What `command` prints in the folder, with ANSI colours, with these variables set.

    Raises:
        RuntimeError: if the command does not end well; with what it complained about.
    """
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *shlex.split(command)[1:]],
        cwd=folder,
        env=_environment() | dict(settings),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"`{command}` ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _environment() -> dict[str, str]:
    """This one's, without what would change colours or answers."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("ORCHESTRATOR_", "PREFECT_"))}
    own.pop("NO_COLOR", None)
    return own | {
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }
