"""Text from other people's flows cannot steer the terminal; JSON is always JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.cli import console


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain name", "plain name"),
        ("naïve – ☃ 数", "naïve – ☃ 数"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]8;;http://evil\x07link", "]8;;http://evillink"),
        ("\x9b2J", "2J"),
        ("two\nlines\tand\rmore", "two lines andmore"),
        ("\u202egnp.exe", "gnp.exe"),
        ("lone \ud800 half", "lone ? half"),
        ("[red]markup[/red]", "[red]markup[/red]"),
    ],
)
def test_what_steers_a_terminal_is_taken_out(name: str, shown: str) -> None:
    assert console.clean(name) == shown


@given(st.text())
def test_clean_text_is_one_line_that_any_terminal_takes(text: str) -> None:
    cleaned = console.clean(text)
    cleaned.encode("utf-8")
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in cleaned)
    assert console.clean(cleaned) == cleaned


def test_json_has_no_number_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"gap": math.inf, "rows": (math.nan, 1.5, {"x": -math.inf}), "name": "\x9b"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"gap": None, "rows": [None, 1.5, {"x": None}], "name": "\x9b"}
    assert "\x9b" not in printed


def test_a_spinner_is_for_terminals_only(capsys: pytest.CaptureFixture[str]) -> None:
    with console.working("planning"):
        pass
    assert capsys.readouterr() == ("", "")
