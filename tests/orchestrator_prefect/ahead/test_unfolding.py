"""Does a run go on as an earlier one did? Where not, the task and the reason are named."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator_core.execute.record import Burst
from orchestrator_prefect.ahead.unfolding import Unfolding
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import flow_graph

from ..earlier import Code


def earlier() -> Code:
    """load x 3; when the first two are there, join of all; when that is there, report."""
    code = Code()
    code.submit("load-0", "load-1", "load-2", resources={"disk": 1})
    code.wait("load-0", "load-1", until=2.0, pause=0.5)
    code.submit("join-0", after=("load-0", "load-1", "load-2"))
    code.wait("join-0", until=4.0)
    code.submit("report-0", waits_for=("load-2",))
    return code


def take(way: Unfolding, batch: Sequence[Submission]) -> None:
    way.take(batch, flow_graph(batch))


def loads() -> list[Submission]:
    return Code().submit("load-0", "load-1", "load-2", resources={"disk": 1})


def test_what_is_to_come_is_what_has_not_come() -> None:
    way = Unfolding(earlier().run())
    assert [(list(names), burst) for names, burst in way.coming()] == [
        (["load-0", "load-1", "load-2"], Burst(3, (), 0.0)),
        (["join-0"], Burst(1, ("load-0", "load-1"), 0.5)),
        (["report-0"], Burst(1, ("join-0",), 0.0)),
    ]
    take(way, loads()[:2])
    assert way.departure == ""
    assert [(list(names), burst) for names, burst in way.coming()] == [
        (["load-2"], Burst(1)),
        (["join-0"], Burst(1, ("load-0", "load-1"), 0.5)),
        (["report-0"], Burst(1, ("join-0",), 0.0)),
    ]


def test_a_run_that_goes_the_same_way_to_its_end_leaves_nothing() -> None:
    code, way = earlier(), Unfolding(earlier().run())
    for name in ("load-0", "load-2", "load-1", "join-0", "report-0"):
        take(way, [code.submitted[name]])
    assert way.departure == ""
    assert way.coming() == []


def changed(name: str, **fields: object) -> list[Submission]:
    """The whole run with one submission that is another."""
    submitted = earlier().submitted
    for field, value in fields.items():
        setattr(submitted[name], field, value)
    return list(submitted.values())


@pytest.mark.parametrize(
    ("batch", "why"),
    [
        (Code().submit("load-3"), "task 'load-3' was not there"),
        (changed("join-0", kind="merge"), "task 'join-0' was of kind 'join', and is 'merge'"),
        (changed("join-0", after=("load-0", "load-1")), "task 'join-0' took other inputs"),
        (changed("report-0", after=("join-0",)), "task 'report-0' took other inputs"),
        (changed("report-0", waits_for=("load-1",)), "task 'report-0' waited for others"),
        (
            changed("load-1", annotations={"resources": {"disk": 2}}),
            "task 'load-1' asked for other resources or workers",
        ),
        (
            changed("join-0", annotations={"workers": ["w"]}),
            "task 'join-0' asked for other resources or workers",
        ),
        (
            [*loads()[:2], earlier().submitted["join-0"]],
            "task 'load-2' has not come before 'join-0'",
        ),
    ],
)
def test_another_way_is_noticed_at_its_first_task(batch: list[Submission], why: str) -> None:
    way = Unfolding(earlier().run())
    take(way, batch)
    assert way.departure == why
    take(way, [earlier().submitted["report-0"]])
    assert way.departure == why, "the first is what counts"


def test_times_are_not_compared() -> None:
    slower = Code()
    slower.now = 100.0
    way = Unfolding(earlier().run())
    take(way, slower.submit("load-0", "load-1", "load-2", resources={"disk": 1}))
    assert way.departure == ""


def test_what_the_code_waits_for_may_change() -> None:
    """It asks for other results before it goes on; the tasks are the same."""
    code = Code()
    code.submit("load-0", "load-1", "load-2", resources={"disk": 1})
    code.wait("load-2", until=1.0)
    code.submit("join-0", after=("load-0", "load-1", "load-2"))
    way = Unfolding(earlier().run())
    take(way, list(code.submitted.values()))
    assert way.departure == ""


def test_a_record_without_bursts_is_one_burst() -> None:
    run = earlier().run()
    object.__setattr__(run, "bursts", ())
    way = Unfolding(run)
    take(way, [earlier().submitted["join-0"]])
    assert way.departure == ""
    ((names, burst),) = way.coming()
    assert set(names) == {"load-0", "load-1", "load-2", "report-0"}
    assert burst == Burst(4)
