"""The same instance, seed and iterations give the same bytes in every process."""

from __future__ import annotations

import os
import subprocess
import sys

REPEATS = 2


def test_plans_are_the_same_bytes_in_every_process() -> None:
    """Whatever Python's hash seed is; `./dev bench determinism` does it a hundred times."""
    program = "from tests.plan.digests import digest_of_plans; print(digest_of_plans())"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in range(REPEATS)
    }
    assert len(found) == 1
