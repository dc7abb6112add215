"""What transfers took is learned by kinds of workers, and told so that clusters stay the same."""

from __future__ import annotations

import random

import numpy as np
import pytest

from orchestrator_core.execute.dask.workers import links as module
from orchestrator_core.execute.dask.workers.links import LATENCY, End, Links, Rounded

A1, A2 = End("tcp://1", "a", "host-1"), End("tcp://2", "a", "host-1")
B1, B2 = End("tcp://3", "b", "host-1"), End("tcp://4", "b", "host-2")
OTHERWISE = 1e8


def observe(
    links: Links, source: End, target: End, rate: float, *, times: int = 20, latency: float = 0.001
) -> None:
    """Small and large transfers over a link of that rate (bytes/s) and latency (s)."""
    dice = random.Random(1)
    for _ in range(times):
        nbytes = dice.choice([2e6, 1e7, 5e7])
        noise = dice.uniform(0.9, 1.1)
        links.observe(source, target, nbytes, (latency + nbytes / rate) * noise)
        links.observe(source, target, 100.0, latency * noise)


def test_nothing_is_known_at_first() -> None:
    latency, seconds_per_byte = Links().matrices([A1, B1], OTHERWISE)
    assert latency.tolist() == [[LATENCY] * 2] * 2
    assert seconds_per_byte == pytest.approx(np.full((2, 2), 1 / OTHERWISE))


def test_a_rate_is_found_beside_the_latency() -> None:
    links = Links()
    observe(links, A1, B1, 1e9, latency=0.004)
    latency, seconds_per_byte = links.matrices([A1, B1], OTHERWISE)
    assert 0.002 < latency[0, 1] < 0.008
    assert 0.7e9 < 1 / seconds_per_byte[0, 1] < 1.4e9


def test_kinds_differ_and_the_unknown_is_taken_to_be_like_all_others() -> None:
    links = Links()
    observe(links, A1, A2, 4e9)
    observe(links, A1, B1, 1e9)
    observe(links, A2, B1, 1e9)
    _, per_byte = links.matrices([A1, A2, B1], OTHERWISE)
    rate = 1 / per_byte
    assert rate[0, 1] == rate[1, 0], "of one kind"
    assert 3 < rate[0, 1] / rate[0, 2] < 6
    assert rate[0, 2] == rate[1, 2]
    assert rate[0, 2] <= rate[2, 0] <= rate[0, 1], "not seen from b to a"


def test_a_network_is_not_a_loopback() -> None:
    links = Links()
    observe(links, B1, A1, 4e9)
    observe(links, B2, A1, 2.5e8)
    rate = 1 / links.matrices([A1, B1, B2], OTHERWISE)[1]
    assert 8 < rate[1, 0] / rate[2, 0] < 32
    assert rate[1, 2] == rate[2, 0], "the other way, not seen"


def test_a_pair_that_is_clearly_different_counts_for_itself() -> None:
    links = Links()
    ends = [End(f"tcp://{i}", "a", f"host-{i}") for i in range(6)]
    for source in ends:
        for target in ends:
            if source != target:
                observe(links, source, target, 1e7 if source is ends[5] else 1e9, times=10)
    rate = 1 / links.matrices(ends, OTHERWISE)[1]
    apart = ~np.eye(6, dtype=bool)
    apart[5] = False
    assert len(set(rate[apart].tolist())) == 1, "the others are alike"
    assert set((rate[5, :5] < 0.1 * rate[0, 1]).tolist()) == {True}


def test_few_or_nonsensical_transfers_say_nothing() -> None:
    links = Links()
    observe(links, A1, B1, 1e9, times=3)
    for nbytes, seconds in ((1e9, 0.0), (1e9, -1.0), (np.nan, 1.0), (1e9, np.inf), (-1.0, 1.0)):
        for _ in range(50):
            links.observe(A1, B1, nbytes, seconds)
    latency, per_byte = links.matrices([A1, B1], OTHERWISE)
    assert links.observed == 6
    assert latency[0, 1] == LATENCY
    assert per_byte[0, 1] == pytest.approx(1 / OTHERWISE)


def test_what_is_told_stays_the_same_under_noise() -> None:
    links = Links()
    dice = random.Random(3)
    told = set()
    for _ in range(300):
        links.observe(A1, B1, 2e7, dice.uniform(0.016, 0.024))
        if links.observed >= 20:
            told.add(float(links.matrices([A1, B1], OTHERWISE)[1][0, 1]))
    assert len(told) == 1


def test_what_has_changed_is_told() -> None:
    links = Links()
    observe(links, A1, B1, 1e9, times=100)
    before = links.matrices([A1, B1], OTHERWISE)[1][0, 1]
    observe(links, A1, B1, 1e8, times=100)
    assert 7 < links.matrices([A1, B1], OTHERWISE)[1][0, 1] / before < 15


def test_pairs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS", 10)
    links = Links()
    for i in range(100):
        links.observe(End(f"tcp://{i}", "a", "h"), A1, 1e7, 0.1)
    assert len(links._pairs) == 10
    assert links.observed == 100


def test_rounding_keeps_what_it_said() -> None:
    rounded = Rounded(4)
    assert rounded(2.0**20) == 2.0**20
    assert rounded(1.12 * 2.0**20) == 2.0**20, "not far enough"
    assert rounded(1.2 * 2.0**20) == 2.0**20.25
    assert rounded(1.1 * 2.0**20) == 2.0**20.25
    assert rounded(2.0**20) == 2.0**20
    assert all(0.9 < Rounded(4)(b) / b < 1.1 for b in (1e-4, 1e6, 3.3e7, 1e8, 9.9e9))
    assert Rounded(4)(0.0) > 0
