"""Asking a fresh interpreter: a package that breaks or hangs on import breaks nothing here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

SECONDS = 60.0
"""How long an answer may take."""


class ProbeFailed(Exception):
    """The interpreter ended with an error, or did not end; the message is its last line."""


def probe(program: str, environment: Mapping[str, str] | None = None) -> Any:
    """What the program prints as JSON on its last line.

    Raises:
        ProbeFailed: if it gives none in time.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        raise ProbeFailed(f"no answer within {SECONDS:g} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it exited with {done.returncode}"]
        raise ProbeFailed(lines[-1])
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise ProbeFailed("it printed no answer") from None
