"""Are plans the same bytes in every process, whatever Python's hash seed is?"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from typing import Any


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("determinism")
    group.add_argument("--repeats", type=int, default=100, help="processes; default: 100")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """How many processes gave how many different digests of `tests/plan/digests.py`."""
    program = "from tests.plan.digests import digest_of_plans; print(digest_of_plans())"
    found = set()
    for seed in range(options.repeats):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    return {"processes": options.repeats, "different_plans": len(found)}
