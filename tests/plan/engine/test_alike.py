"""Workers that may change places are found, however many there are."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.plan.engine.alike import classes


def whole_matrix_classes(supplies: list[int], links: list[np.ndarray]) -> list[list[int]]:
    """By the definition: with two of a class exchanged, every matrix is what it was."""
    found: list[list[int]] = []
    for b, supply in enumerate(supplies):
        names = np.arange(len(supplies))
        for members in found:
            a = members[0]
            names[[a, b]] = b, a
            turned = np.ix_(names, names)
            if supplies[a] == supply and all((link == link[turned]).all() for link in links):
                members.append(b)
                break
            names[[a, b]] = a, b
        else:
            found.append([b])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_classes_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = int(rng.integers(1, 7))
    group = rng.integers(0, 3, w)
    links = []
    for _ in range(2):
        between = rng.integers(0, 2, (3, 3)).astype(float)
        link = between[group][:, group]
        if rng.random() < 0.3:
            link[rng.integers(w), rng.integers(w)] += 1.0  # one way only
        np.fill_diagonal(link, 0.0)
        links.append(link)
    supplies = rng.integers(0, 2, w).tolist()
    assert classes(supplies, np.ones((2, w)), links) == whole_matrix_classes(supplies, links)


def test_seconds_and_a_ring_tell_workers_apart() -> None:
    ring = np.roll(np.eye(4), 1, axis=1)
    assert classes([1] * 4, np.ones((1, 4)), [ring]) == [[0], [1], [2], [3]]
    assert classes([1] * 3, np.array([[1.0, 2.0, 1.0]]), [np.zeros((3, 3))]) == [[0, 2], [1]]


def test_a_thousand_workers_with_links_of_their_own_are_soon_told_apart() -> None:
    """Comparing whole matrices for each of the 499,500 pairs takes longer than a test may."""
    link = np.random.default_rng(0).random((1000, 1000))
    assert len(classes([1] * 1000, np.ones((1, 1000)), [link, link, link])) == 1000
