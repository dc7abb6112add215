"""Python and the packages that this project needs, by their versions; imports none of them."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from orchestrator_core.cli.health.check import Check, bad, good, warning

DISTRIBUTION = "prefect-orchestrator"
OLDEST = (3, 11)

SHOWN = ("prefect", "dask", "distributed", "ortools", "numba", "sqlalchemy")
"""Packages with a line of their own; the others only when they do not fit."""


def check_python() -> Check:
    """At least Python 3.11?"""
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST:
        return bad("Python", found, "install Python 3.11 or newer")
    return good("Python", found)


def check_packages() -> list[Check]:
    """Is each dependency installed, in a version that fits?"""
    from packaging.requirements import Requirement

    try:
        texts = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        mend = "type, in the folder of its source: pip install ."
        return [warning(DISTRIBUTION, "runs, but is not installed as a package", mend)]
    wanted = {needed.name.lower(): needed for needed in map(Requirement, texts)}
    checks = {
        name: _check_package(name, str(needed.specifier))
        for name, needed in wanted.items()
        if needed.marker is None or needed.marker.evaluate({"extra": ""})
    }
    shown = [checks.pop(name) for name in SHOWN if name in checks]
    return shown + [check for check in checks.values() if check.mend]


def _check_package(name: str, specifier: str) -> Check:
    from packaging.specifiers import SpecifierSet

    mend = f"type: pip install '{name}{specifier}'"
    try:
        found = version(name)
    except PackageNotFoundError:
        return bad(name, f"is not installed; {specifier} is needed", mend)
    if not SpecifierSet(specifier).contains(found, prereleases=True):
        return bad(name, f"{found} does not fit; {specifier} is needed", mend)
    return good(name, found)
