"""What became of tests that another project wrote, and which of them fail with ours alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Outcomes = dict[str, str]
"""By test: "passed", "skipped" or what went wrong."""


def outcomes_of(report: Path) -> Outcomes:
    """Of a report of pytest in JUnit's format."""
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname')}::{case.get('name')}": _outcome(case) for case in cases}


def compared(plain: Outcomes, ours: Outcomes, without: str, with_it: str) -> dict[str, Any]:
    """Counts, and what fails in the second alone; shown, too, under these names."""
    before = {name for name, why in plain.items() if _fails(why)}
    worse = {name: why for name, why in ours.items() if _fails(why) and name not in before}
    found = {"plain": _counted(plain), "ours": _counted(ours), "only_ours_fail": worse}
    print(without, found["plain"], with_it, found["ours"])
    for name, why in worse.items():
        print(f"  {name}: {why}")
    return found


def _outcome(case: ElementTree.Element) -> str:
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            lines = (found.get("message") or kind).strip().splitlines()
            return kind if kind == "skipped" else lines[0][:200]
    return "passed"


def _fails(outcome: str) -> bool:
    return outcome not in ("passed", "skipped")


def _counted(outcomes: Mapping[str, str]) -> dict[str, int]:
    return dict(Counter("failed" if _fails(each) else each for each in outcomes.values()))
