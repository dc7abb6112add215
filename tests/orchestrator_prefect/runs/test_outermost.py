"""Subflows leave what they have still to publish to the flow that called them."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

from orchestrator_prefect.runs.outermost import Outermost, outermost


class Slow:
    """Notes how long it was waited for."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def wait(self, seconds: float = 5.0) -> None:
        self.waits.append(seconds)


def test_a_subflow_waits_for_nothing_and_the_flow_around_it_for_all() -> None:
    inner: Any
    outer: Any
    inner, outer = Slow(), Slow()
    with outermost() as around:
        with outermost() as same:
            same.leave(inner)
        assert same is around
        assert not inner.waits
        around.leave(outer)
        assert not outer.waits, "the cluster may close meanwhile"
    assert len(inner.waits) == len(outer.waits) == 1


def test_all_of_them_together_are_waited_for_no_longer_than_one() -> None:
    slow: Any = [Slow(), Slow()]
    around = Outermost()
    for each in slow:
        around.leave(each)
    around.wait(0.0)
    assert [each.waits for each in slow] == [[0.0], [0.0]]


def test_a_subflow_that_ends_after_the_flow_around_it_waits_itself() -> None:
    late: Any = Slow()
    with outermost() as around:
        pass
    around.leave(late)
    assert late.waits == [5.0]


def test_the_next_flow_is_outermost_again_also_where_a_generator_ends_elsewhere() -> None:
    with outermost() as first:
        pass
    with outermost() as second:
        assert second is not first
    block = outermost()
    copy_context().run(block.__enter__)
    block.__exit__(None, None, None)
    with outermost() as third:
        assert third is not second
