"""Lanes: as few rows as possible, nothing overlaps in one."""

from __future__ import annotations

import numpy as np

from orchestrator_core.report.lanes import Span, in_lanes


def test_random_spans_need_as_many_lanes_as_run_at_a_time():
    rng = np.random.default_rng(5)
    for _ in range(50):
        starts = rng.integers(0, 50, 30)
        spans = [Span(float(s), float(s + rng.integers(1, 10)), i) for i, s in enumerate(starts)]
        placed = in_lanes(spans)
        assert sorted(span.thing for _, span in placed) == list(range(30))
        rows = {}
        for lane, span in placed:
            assert rows.get(lane, 0.0) <= span.start
            rows[lane] = span.end
        most = max(sum(s.start <= t < s.end for s in spans) for t in range(60))
        assert len(rows) == most


def test_a_span_that_begins_a_little_early_begins_when_the_lane_is_free():
    ((_, first), (lane, second)) = in_lanes([Span(0, 10, "a"), Span(9, 20, "b")], jitter=2)
    assert (lane, second.start, second.end) == (0, first.end, 20)


def test_a_short_span_is_never_swallowed_by_the_jitter():
    placed = in_lanes([Span(0, 10, "a"), Span(9, 10, "b")], jitter=5)
    assert [lane for lane, _ in placed] == [0, 1]
