"""By turns: who is next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator_core.plan.bounds.alternating import AT_LEAST, TURN, by_turns
from orchestrator_core.plan.planner import Proposal


class Turns:
    """Rungs whose every proposal takes more than a turn and raises the bound by what is given."""

    def __init__(self, *gains: float, ends: int | None = None) -> None:
        self.bound, self._ends = 1.0, ends
        self.taken: list[int] = []
        self._rungs = [self._rung(k, gain) for k, gain in enumerate(gains)]

    def of(self, many: int) -> list[int]:
        """Whose the first turns are."""
        proposals = by_turns(self._rungs, lambda: self.bound, lambda: 2 * TURN * len(self.taken))
        for _ in proposals:
            if len(self.taken) == many:
                break
        return self.taken

    def _rung(self, k: int, gain: float) -> Iterator[Proposal]:
        while self._ends is None or k > 0 or self.taken.count(0) < self._ends:
            self.taken.append(k)
            self.bound += gain
            yield Proposal()


def test_where_none_raises_the_bound_all_have_as_many_turns() -> None:
    assert Turns(0.0, 0.0).of(10) == [0, 1] * 5
    assert Turns(0.0, 0.0, 0.0).of(9) == [0, 1, 2] * 3


@pytest.mark.parametrize("best", [0, 1])
def test_the_rung_that_raises_the_bound_has_all_turns_but_one_of_a_few(best: int) -> None:
    taken = Turns(*(0.1 * (k == best) for k in range(2))).of(10 * AT_LEAST)
    assert 10 <= taken.count(1 - best) <= 11


def test_what_was_gained_long_ago_is_no_reason() -> None:
    """The first rung gains once, much, and never again."""
    turns = Turns(0.0, 0.0)
    turns._rungs[0] = _once(turns)
    taken = turns.of(60)
    assert taken[-20:] == [0, 1] * 10 or taken[-20:] == [1, 0] * 10


def test_a_rung_that_has_ended_leaves_its_turns_to_the_others() -> None:
    assert Turns(0.1, 0.0, ends=3).of(12).count(1) == 9


def _once(turns: Turns) -> Iterator[Proposal]:
    turns.bound += 1.0
    while True:
        turns.taken.append(0)
        yield Proposal()
