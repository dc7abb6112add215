"""What transfers took is learned by kinds of workers, and told so that clusters stay the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection

import numpy as np
import pytest

from orchestrator_core.execute.dask.workers import links as module
from orchestrator_core.execute.dask.workers import transfers
from orchestrator_core.execute.dask.workers.links import End, Links
from orchestrator_core.execute.dask.workers.rounded import Rounded
from orchestrator_core.execute.dask.workers.transfers import LATENCY, usual_rate
from orchestrator_core.graph.cluster import Cluster, Link, Worker

A1, A2 = End("tcp://1", "a", "host-1", "a-1"), End("tcp://2", "a", "host-1", "a-2")
B1, B2 = End("tcp://3", "b", "host-1", "b-1"), End("tcp://4", "b", "host-2", "b-2")
OTHERWISE = 1e8

clock = itertools.count(1_000_000.0, 1_000.0)
"""Transfers of tests are never at once, unless they are meant to be."""


def took(links: Links, source: End, target: End, nbytes: float, seconds: float) -> None:
    """A transfer took so long, beside no other."""
    begun = next(clock)
    links.observe(source, target, nbytes, begun, begun + seconds)


def observe(
    links: Links, source: End, target: End, rate: float, *, times: int = 20, latency: float = 0.001
) -> None:
    """Small and large transfers over a link of that rate (bytes/s) and latency (s)."""
    dice = random.Random(1)
    for _ in range(times):
        nbytes = dice.choice([2e6, 1e7, 5e7])
        noise = dice.uniform(0.9, 1.1)
        took(links, source, target, nbytes, (latency + nbytes / rate) * noise)
        took(links, source, target, 100.0, latency * noise)


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


def test_kinds_that_differ_little_are_one() -> None:
    """What few transfers between them took is chance."""
    links = Links()
    observe(links, A1, A2, 1e9, times=10)
    observe(links, A1, B1, 0.7e9, times=10)
    observe(links, B1, A1, 1.4e9, times=10)
    observe(links, B1, A2, 1e8, times=5)
    rate = 1 / links.matrices([A1, A2, B1], OTHERWISE)[1]
    assert len(set(rate[~np.eye(3, dtype=bool)].tolist())) == 1


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
            links.observe(A1, B1, nbytes, 0.0, seconds)
    latency, per_byte = links.matrices([A1, B1], OTHERWISE)
    assert links.observed == 6
    assert latency[0, 1] == LATENCY
    assert per_byte[0, 1] == pytest.approx(1 / OTHERWISE)


def test_what_is_told_stays_the_same_under_noise() -> None:
    links = Links()
    dice = random.Random(3)
    told = set()
    for _ in range(300):
        took(links, A1, B1, 2e7, dice.uniform(0.016, 0.024))
        if links.observed >= 20:
            told.add(float(links.matrices([A1, B1], OTHERWISE)[1][0, 1]))
    assert len(told) == 1


def test_what_has_changed_is_told() -> None:
    links = Links()
    observe(links, A1, B1, 1e9, times=100)
    before = links.matrices([A1, B1], OTHERWISE)[1][0, 1]
    observe(links, A1, B1, 1e8, times=100)
    assert 7 < links.matrices([A1, B1], OTHERWISE)[1][0, 1] / before < 15


@pytest.mark.parametrize("fan_in", [True, False])
def test_what_is_sent_or_received_at_once_does_not_make_a_link_slow(fan_in: bool) -> None:
    """Four transfers share one worker's line of 1 GB/s: each takes four times as long."""
    links, hub = Links(), A1
    others = [End(f"tcp://other-{i}", "a", "host-1", f"o-{i}") for i in range(4)]
    for _ in range(10):
        begun = next(clock)
        for other in others:
            ends = (other, hub) if fan_in else (hub, other)
            links.observe(*ends, 1e8, begun, begun + 0.4 + LATENCY)
    rate = 1 / links.matrices([A1, A2], OTHERWISE)[1][0, 1]
    assert 0.7e9 < rate < 1.4e9


def test_what_other_workers_send_each_other_does_not_count() -> None:
    links = Links()
    for _ in range(10):
        begun = next(clock)
        links.observe(A1, A2, 1e8, begun, begun + 0.1)
        links.observe(B1, B2, 1e8, begun, begun + 1.0)
    rate = 1 / links.matrices([A1, A2, B1, B2], OTHERWISE)[1]
    assert 0.7e9 < rate[0, 1] < 1.4e9
    assert 0.7e8 < rate[2, 3] < 1.4e8


def cluster_of(links: Links, ends: list[End]) -> Cluster:
    latency, per_byte = links.matrices(ends, OTHERWISE)
    workers = [Worker(end.name, end.kind) for end in ends]
    return Cluster.from_matrices(workers, latency=latency, seconds_per_byte=per_byte)


def test_a_session_begins_with_the_links_of_an_earlier_one() -> None:
    ends = [A1, A2, B1, B2]
    before = Links()
    observe(before, A1, A2, 3e9)
    observe(before, B1, A1, 7e8)
    observe(before, B2, A1, 2e7, latency=0.008)
    cluster = cluster_of(before, ends)
    after = Links()
    after.recall([cluster])
    moved = [End(f"{end.address}0", *end[1:]) for end in ends]
    assert cluster_of(after, moved) == cluster
    assert after.is_known


def test_links_of_an_earlier_session_are_known_again_by_kind() -> None:
    before = Links()
    observe(before, A1, B1, 1e9)
    observe(before, B1, A1, 1e7)
    after = Links()
    after.recall([cluster_of(before, [A1, B1])])
    ends = [End(f"tcp://{i}", kind, "host", f"new-{i}") for i, kind in enumerate("abc")]
    rate = 1 / after.matrices(ends, OTHERWISE)[1]
    assert 50 < rate[0, 1] / rate[1, 0] < 200
    assert rate[1, 0] < rate[0, 2] < rate[0, 1], "a kind that was not there is like all"


def test_the_latest_session_that_knows_the_workers_counts() -> None:
    pair = [Worker("a-1", "a"), Worker("a-2", "a")]
    old, new = Cluster(pair, Link(0.001, 2.0**25)), Cluster(pair, Link(0.001, 2.0**30))
    other = Cluster([Worker("x", "x"), Worker("y", "x")], Link(0.001, 2.0**20))
    links = Links()
    links.recall([old, new, other])
    assert 1 / links.matrices([A1, A2], OTHERWISE)[1][0, 1] == pytest.approx(2.0**30)


def test_a_few_transfers_do_not_outweigh_earlier_sessions_but_many_do() -> None:
    pair = [Worker("a-1", "a"), Worker("a-2", "a")]
    links = Links()
    links.recall([Cluster(pair, Link(0.001, 2.0**30))])
    told = []
    for _ in range(64):
        took(links, A1, A2, 2.0**25, 1.0)
        told.append(1 / links.matrices([A1, A2], OTHERWISE)[1][0, 1])
    assert told[1] > 2.0**28
    assert told[-1] == pytest.approx(2.0**25)


def test_many_short_sessions_move_what_one_long_one_found() -> None:
    pair = [Worker("a-1", "a"), Worker("a-2", "a")]
    cluster = Cluster(pair, Link(0.001, 2.0**25))
    for _ in range(12):
        links = Links()
        links.recall([cluster])
        for _ in range(4):
            took(links, A1, A2, 2.0**28, 0.25)
        cluster = cluster_of(links, [A1, A2])
    assert 2.0**29.2 < cluster.link("a-1", "a-2").bandwidth < 2.0**31


def test_links_without_delay_say_nothing_about_later_ones() -> None:
    links = Links()
    links.recall([Cluster([Worker("a-1", "a"), Worker("a-2", "a")])])
    assert 1 / links.matrices([A1, A2], OTHERWISE)[1][0, 1] == pytest.approx(OTHERWISE)
    assert not links.is_known


def test_pairs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS", 10)
    links = Links()
    for i in range(100):
        took(links, End(f"tcp://{i}", "a", "h"), A1, 1e7, 0.1)
    links.matrices([A1], OTHERWISE)
    assert len(links._pairs) == 10
    assert links.observed == 100


def test_what_is_known_of_a_pair_is_not_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler's event loop asks once a second, for each of thousands of pairs: of 100 workers
    that took half of its time."""
    asked: list[int] = []

    def counted(large: Collection[tuple[float, float]], latency: float) -> float:
        asked.append(len(large))
        return usual_rate(large, latency)

    monkeypatch.setattr(transfers, "usual_rate", counted)
    links, ends = Links(), [A1, A2, B1, B2]
    for source, target in itertools.permutations(ends, 2):
        observe(links, source, target, 1e9)
    before = links.matrices(ends, OTHERWISE)
    asked.clear()
    assert np.array_equal(links.matrices(ends, OTHERWISE), before)
    assert asked == [], "nothing has come since"
    took(links, A1, A2, 1e7, 0.01)
    links.matrices(ends, OTHERWISE)
    assert len(asked) == 3, "the pair, its kinds on one host, and all on one host"


@pytest.mark.parametrize(
    ("large", "expected"),
    [
        ([(1e6, 1.0), (1e6, 0.5), (1e6, 0.25)], 2e6),
        ([(9e6, 9.0), (1e6, 0.5), (1e6, 0.25)], 1e6),
        ([(2e6, 2.0), (2e6, 1.0)], 1e6),
    ],
    ids=["the middle one", "the one with most of the bytes", "of two the slower"],
)
def test_the_usual_rate_is_that_of_the_median_byte(
    large: list[tuple[float, float]], expected: float
) -> None:
    """Without latency: bytes over seconds of each, the lowest first, up to half of all bytes."""
    assert usual_rate(large, 0.0) == expected


def test_rounding_keeps_what_it_said() -> None:
    rounded = Rounded(4)
    assert rounded(2.0**20) == 2.0**20
    assert rounded(1.12 * 2.0**20) == 2.0**20, "not far enough"
    assert rounded(1.2 * 2.0**20) == 2.0**20.25
    assert rounded(1.1 * 2.0**20) == 2.0**20.25
    assert rounded(2.0**20) == 2.0**20
    assert all(0.9 < Rounded(4)(b) / b < 1.1 for b in (1e-4, 1e6, 3.3e7, 1e8, 9.9e9))
    assert Rounded(4)(0.0) > 0
