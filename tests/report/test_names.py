"""Names that are near to what was typed."""

from __future__ import annotations

import pytest

from orchestrator_core.report.names import find, near

NAMES = ["load", "train-1", "train-2", "report"]


@pytest.mark.parametrize(
    ("typed", "found"), [("load", "load"), ("rep", "report"), ("train", None), ("", None)]
)
def test_a_name_is_found_by_itself_or_as_the_only_one_that_begins_so(typed, found):
    assert find(typed, NAMES) == found


def test_a_whole_name_counts_although_others_begin_with_it():
    assert find("a", ["a", "ab"]) == "a"


def test_names_that_hold_the_text_come_before_those_spelled_like_it():
    assert near("TRAIN", NAMES) == ["train-1", "train-2"]
    assert near("raport", NAMES) == ["report"]
    assert near("zzz", NAMES) == []
    assert near("", NAMES) == []
