"""What lies behind a minimum cut, against all divisions of the points."""

from __future__ import annotations

import itertools
import random

import pytest

from orchestrator_core.conductor.minimum_cut import ENDLESS, behind

SOURCE, SINK = 0, 1

Edges = dict[tuple[int, int], int]


def cut(edges: Edges, side: set[int]) -> int:
    """What the edges let through from outside of the side into it."""
    return sum(c for (tail, head), c in edges.items() if tail not in side and head in side)


def smallest_side(edges: Edges, points: int) -> set[int]:
    """Of the sides of the sink with the smallest cut the one with the fewest points."""
    others = range(2, points)
    sides = [
        {SINK, *chosen}
        for size in range(points - 1)
        for chosen in itertools.combinations(others, size)
    ]
    return min(sides, key=lambda side: (cut(edges, side), len(side)))


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_side_of_the_smallest_cut_that_is_nearest_to_the_sink(seed: int) -> None:
    draw = random.Random(seed)
    points = draw.randint(2, 8)
    edges = {
        (tail, head): draw.randint(0, 4)
        for tail, head in itertools.permutations(range(points), 2)
        if draw.random() < 0.5
    }
    assert behind(edges, SOURCE, SINK) == smallest_side(edges, points)


def test_an_edge_without_end_is_not_cut() -> None:
    edges = {(SOURCE, 2): ENDLESS, (2, 3): 7, (3, SINK): ENDLESS}
    assert behind(edges, SOURCE, SINK) == {SINK, 3}


def test_where_all_cuts_are_without_end_there_is_none() -> None:
    """Of three ways, whose capacities together are more than 32 bits hold."""
    ways = {(SOURCE, n): ENDLESS for n in (2, 3, 4)} | {(n, SINK): ENDLESS for n in (2, 3, 4)}
    assert behind(ways, SOURCE, SINK) is None


def test_of_no_edges_the_sink_alone_is_behind() -> None:
    assert behind({}, SOURCE, SINK) == {SINK}
