"""The example of the conductor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.running import run


@pytest.mark.slow
def test_conduct_finds_the_attention_and_holds_less(tmp_path: Path) -> None:
    printed = run("conduct.py", "--length", "1024", folder=tmp_path)
    assert re.search(r"tiling\s+conduct\.py:\d+ in attention", printed), printed
    held = dict(re.findall(r"^(plain|conducted)\s+([\d.]+) MB", printed, re.MULTILINE))
    assert float(held["plain"]) > 3 * float(held["conducted"])
    difference = re.search(r"difference\s+(\S+) of", printed)
    assert difference is not None
    assert float(difference[1]) < 1e-5
