"""The examples, run as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(example: str, *arguments: str, folder: Path, **environment: str) -> str:
    """What an example prints, whose working folder is `folder`; it must end well."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
