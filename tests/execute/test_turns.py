"""Which of several runs goes first."""

from __future__ import annotations

import itertools
import random

from orchestrator_core.execute.turns import Claim, Turn, turn_of

ALONE = Turn(length=10)


def claim(work: float, dated: bool = False) -> Claim:
    return Claim(dated, work)


def test_a_run_that_is_alone_has_the_ranks_of_its_plan() -> None:
    turn = turn_of(claim(5.0), 10, [])
    ranks = [turn.rank(place) for place in range(10)]
    assert ranks == list(range(10))
    assert all(isinstance(rank, int) for rank in ranks)


def test_the_shorter_goes_first_and_as_short_as_it_comes_later() -> None:
    there = [(ALONE, claim(5.0))]
    assert turn_of(claim(4.0), 3, there).last < ALONE.first
    assert turn_of(claim(5.0), 3, there).first > ALONE.last
    assert turn_of(claim(6.0), 3, there).first > ALONE.last


def test_dates_come_before_work() -> None:
    there = [(ALONE, claim(5.0))]
    assert turn_of(claim(9.0, dated=True), 3, there).last < ALONE.first
    dated = [(ALONE, claim(5.0, dated=True))]
    assert turn_of(claim(4.0), 3, dated).first > ALONE.last
    assert turn_of(claim(4.0, dated=True), 3, dated).last < ALONE.first


def test_where_no_number_is_left_between_two_it_comes_behind_both() -> None:
    """Each comes right after the first, whose work is least, and before all others."""
    there = [
        (ALONE, claim(1.0)),
        (turn_of(claim(1000.0), 50, [(ALONE, claim(1.0))]), claim(1000.0)),
    ]
    for number in range(40):
        new = claim(900.0 - number)
        turn = turn_of(new, 50, there)
        assert turn.first > there[0][0].last
        there.append((turn, new))
    ranks = sorted(turn.rank(place) for turn, _ in there for place in range(turn.length))
    assert all(a < b for a, b in itertools.pairwise(ranks))


def test_nobody_loses_his_turn_and_no_two_ranks_meet() -> None:
    dice = random.Random(7)
    for _ in range(200):
        there: list[tuple[Turn, Claim]] = []
        for _ in range(dice.randint(1, 12)):
            new = claim(float(dice.randint(1, 5)), dated=dice.random() < 0.2)
            there.append((turn_of(new, dice.randint(1, 30), there), new))
        ranks = [{turn.rank(place) for place in range(turn.length)} for turn, _ in there]
        assert [len(each) for each in ranks] == [turn.length for turn, _ in there]
        in_order = sorted(range(len(there)), key=lambda i: min(ranks[i]))
        for i, j in itertools.pairwise(in_order):
            assert max(ranks[i]) < min(ranks[j])
            assert not there[j][1].goes_before(there[i][1])
