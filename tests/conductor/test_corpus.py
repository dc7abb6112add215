"""A part of the corpus in every run: some spellings, transforms, near-misses, models. All of it if
slow tests are asked for; `./dev bench conductor_corpus` does the same in several processes.
"""

from __future__ import annotations

import pytest

from orchestrator_core.conductor import Goal
from tests.conductor.corpus.attention import SPELLINGS
from tests.conductor.corpus.case import Case
from tests.conductor.corpus.examine import changed_bits, examined
from tests.conductor.corpus.models import MODELS
from tests.conductor.corpus.near_misses import NEAR_MISSES
from tests.conductor.corpus.pairwise import PAIRWISE
from tests.conductor.corpus.sets import SETS

ALWAYS = Goal(always=True)
STRICT = Goal(always=True, precision="strict")

RECOGNISED = 0.98
"""Of the attention spellings."""

FEW = [
    *(SPELLINGS[n] for n in (6, 22, 30, 53, 90)),
    *(each for each in SPELLINGS if "T5 buckets" in each.name),
]
UNDER = [
    ("gradient_inside", SPELLINGS[4]),
    pytest.param("layered", SPELLINGS[0], marks=pytest.mark.slow),
]


def few(cases: list[Case], step: int) -> list[Case]:
    return cases[::step]


@pytest.mark.parametrize("case", FEW, ids=str)
def test_attention_is_tiled_and_right(case: Case) -> None:
    outcome = examined(case, "forward", ALWAYS)
    assert outcome.verdict.is_right, outcome.verdict.why
    assert outcome.is_recognised


@pytest.mark.parametrize(("transform", "case"), UNDER, ids=str)
def test_attention_under_transforms(transform: str, case: Case) -> None:
    outcome = examined(case, transform, ALWAYS)
    assert outcome.verdict.is_right, outcome.verdict.why
    assert outcome.is_recognised


@pytest.mark.parametrize("case", few(PAIRWISE, 12), ids=str)
def test_other_pairs_are_right(case: Case) -> None:
    outcome = examined(case, "forward", ALWAYS)
    assert outcome.verdict.is_right, outcome.verdict.why
    assert outcome.is_recognised


@pytest.mark.parametrize("case", few(NEAR_MISSES, 120), ids=str)
def test_near_misses_are_right(case: Case) -> None:
    verdict = examined(case, "forward", ALWAYS).verdict
    assert verdict.is_right, verdict.why


@pytest.mark.parametrize("case", few(NEAR_MISSES[60:], 600), ids=str)
def test_gradients_of_near_misses_are_right(case: Case) -> None:
    verdict = examined(case, "gradient_inside", ALWAYS).verdict
    assert verdict.is_right, verdict.why


@pytest.mark.parametrize("case", few(NEAR_MISSES[7:], 600), ids=str)
def test_strict_changes_the_order_of_sums_alone(case: Case) -> None:
    verdict = examined(case, "forward", STRICT).verdict
    assert verdict.is_right, verdict.why


@pytest.mark.parametrize("case", few(MODELS, 5), ids=str)
def test_where_nothing_is_allowed_no_bit_changes(case: Case) -> None:
    assert changed_bits(case, "forward") == ""


WHOLE = [(name, transform) for name, each in SETS.items() for transform in each.transforms]


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("name", "transform"), WHOLE, ids=str)
def test_the_whole_corpus(name: str, transform: str) -> None:
    outcomes = [examined(case, transform, ALWAYS) for case in SETS[name].possible]
    assert [f"{each}: {each.verdict.why}" for each in outcomes if not each.verdict.is_right] == []
    pairs = [each for each in outcomes if each.case.is_tiled and each.was_pairwise]
    missed = [str(each) for each in pairs if not each.is_recognised]
    assert len(missed) <= (1 - RECOGNISED) * len(pairs), missed


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", ["attention", "near-misses"])
def test_strict_over_the_whole_corpus(name: str) -> None:
    outcomes = [examined(case, "forward", STRICT) for case in SETS[name].possible]
    assert [f"{each}: {each.verdict.why}" for each in outcomes if not each.verdict.is_right] == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("name", "transform"), WHOLE, ids=str)
def test_identity_over_the_whole_corpus(name: str, transform: str) -> None:
    where = {str(case): changed_bits(case, transform) for case in SETS[name].possible}
    assert {case: at for case, at in where.items() if at} == {}
