"""Prefect's own tests, of flows of ours: `./dev bench prefect_tests --prefect DIR`.

DIR is a clone of PrefectHQ/prefect, of about the version that is installed; what it needs for its
tests beside pytest has to be there, too (its dependency group `dev`). In each file `flow` stands
for `flow` with a `DaskTaskRunner` first, then for `optimized_flow`, both on one cluster; shown are
the tests that fail with the second alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHOWS_ITSELF = True

FILES = ("test_flows.py", "test_flow_engine.py")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prefect_tests")
    group.add_argument("--prefect", type=Path, metavar="DIR", help="a clone of its repository")
    group.add_argument("--prefect-files", nargs="+", default=FILES, help="files of its tests")
    group.add_argument("--only", default="", help="tests that pytest -k selects by this")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """How many pass, and what fails with `optimized_flow` alone."""
    if options.prefect is None:
        print("prefect_tests: no --prefect, nothing to run")
        return {}
    if not (options.prefect / "tests").is_dir():
        raise SystemExit(f"prefect_tests: {options.prefect} is no clone of PrefectHQ/prefect")
    from tests.benchmarks.prefect_tests.run import run

    return run(options.prefect, options.prefect_files, options.only)
