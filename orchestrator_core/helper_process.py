"""Helper processes of ours: Python processes without a fork of our threads."""

from __future__ import annotations

import os
import sys


def environment() -> dict[str, str]:
    """Ours, with our import path, and no threads for linear algebra."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
