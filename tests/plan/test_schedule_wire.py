"""Schedules as JSON: what they may hold."""

from __future__ import annotations

import json

import pytest

from orchestrator_core.errors import InvalidFormat
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

GOOD = Schedule(
    [Assignment("a", "w0", 0.0, 1.0), Assignment("b", "w1", 2.0, 3.0)],
    [Transfer("a", "w0", "w1", 1.0, 1.0, 2.0, 8.0)],
)


def with_number(rows: str, column: int, number: int) -> bytes:
    wire = json.loads(GOOD.to_json())
    wire[rows][0][column] = number
    return json.dumps(wire).encode()


@pytest.mark.parametrize("number", [2**63, 2**64, 10**30, -(2**63) - 1])
@pytest.mark.parametrize(
    ("rows", "column"),
    [*(("assignments", k) for k in range(4)), *(("transfers", k) for k in range(4))],
)
def test_a_whole_number_that_no_column_holds_is_refused(
    rows: str, column: int, number: int
) -> None:
    with pytest.raises(InvalidFormat):
        Schedule.from_json(with_number(rows, column, number))


@pytest.mark.parametrize(("rows", "column"), [("assignments", 1), ("transfers", 1)])
def test_the_largest_number_of_an_instance_is_read(rows: str, column: int) -> None:
    read = Schedule.from_json(with_number(rows, column, 2**63 - 1))
    assert max(*read.instance, *read.transfer_instance) == 2**63 - 1
