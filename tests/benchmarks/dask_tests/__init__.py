"""Dask's own tests, with the plugin on every scheduler that they start:
`./dev bench dask_tests --distributed DIR`.

DIR is a clone of dask/distributed, of about the version that is installed. Its tests run without
the plugin and with it; shown are those that fail with it alone. `--follow` gives every graph a plan
that spreads tasks as Dask hardly would: tests of where and when Dask runs what then fail of course,
others must not.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHOWS_ITSELF = True

FILES = ("tests/test_scheduler.py", "tests/test_cancelled_state.py", "tests/test_failed_workers.py")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("dask_tests")
    group.add_argument("--distributed", type=Path, metavar="DIR", help="a clone of its repository")
    group.add_argument(
        "--files",
        nargs="+",
        default=FILES,
        help="files and folders of the package",
    )
    group.add_argument("--only", default="", help="tests that pytest -k selects by this")
    group.add_argument("--follow", action="store_true", help="give every graph a plan")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """How many pass, and what fails with the plugin alone."""
    if options.distributed is None:
        print("dask_tests: no --distributed, nothing to run")
        return {}
    from tests.benchmarks.dask_tests.run import run

    return run(options.distributed, options.files, options.only, options.follow)
