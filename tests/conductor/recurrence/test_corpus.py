"""All recurrences of the corpus, and all near-misses, have their values and gradients."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from tests.conductor.corpus.recurrences import AFFINE, NEAR_MISSES, Recurrence
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients

ALL = [*AFFINE, *NEAR_MISSES]
GROUPS = [ALL[k::6] for k in range(6)]
"""Some together, since most of the time goes to compiling."""


OTHERS = [pytest.param(each, marks=pytest.mark.slow) for each in GROUPS[1:]]


@pytest.mark.parametrize("group", [GROUPS[0], *OTHERS], ids=lambda group: group[0].name)
def test_values_and_gradients(group: list[Recurrence]) -> None:
    given = [normal(*each.shapes, seed=k) for k, each in enumerate(group)]
    counts = [len(arrays) for arrays in given]

    def all_(*flat: Any) -> list[Any]:
        rest = iter(flat)
        made = []
        for each, count in zip(group, counts, strict=True):
            arrays = [next(rest) for _ in range(count)]
            made += jax.tree.leaves(with_gradients(each.function, count)(*arrays))
        return made

    flat = [x for arrays in given for x in arrays]
    function, sites, _ = rewritten(all_, flat)
    found = errors(all_, run(function, flat), flat)
    assert any(site.is_changed for site in sites)
    if max(found) > 2e-5:  # some lose digits in any order
        plain = errors(all_, run(all_, flat), flat)
        assert all(a <= 8 * b + 2e-5 for a, b in zip(found, plain, strict=True)), (found, plain)
