"""The command line: `orchestrator`, and the same as `dask orchestrator`.

One file for each command; each imports what it needs when it runs, so that `--help` stays quick.
Results go to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

COLLECTED_AFTER = 100_000
"""New objects after which garbage is looked for: a command is over before there is much, and with
Python's own 700 the search takes a fifth of its time."""


def main() -> None:
    """The console script: runs the command that was typed, and exits with its code."""
    gc.set_threshold(COLLECTED_AFTER, 20, 20)
    from orchestrator_core.cli.app import run

    sys.exit(run(sys.argv[1:]))


def __getattr__(name: str) -> Any:
    if name == "dask_command":
        from orchestrator_core.cli.for_dask import dask_command

        return dask_command
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
