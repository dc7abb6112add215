"""What tasks read, in flat lists: the same from the front, by position and in slices."""

from __future__ import annotations

from types import SimpleNamespace

from orchestrator_core.execute.dask.graphs.inputs import Inputs


def test_each_task_has_its_own_however_one_asks() -> None:
    a, b = SimpleNamespace(key="a", dependencies=[]), SimpleNamespace(key=("b", 1), dependencies=[])
    states = [
        a,
        b,
        SimpleNamespace(key="c", dependencies=[a, b]),
        SimpleNamespace(dependencies=[b]),
    ]
    inputs = Inputs(states)
    expected = [[], [], ["a", ("b", 1)], [("b", 1)]]
    assert list(inputs) == expected
    assert [inputs[i] for i in range(len(inputs))] == expected
    assert inputs[1:3] == expected[1:3]
    assert inputs[-1] == expected[-1]
    assert list(Inputs([])) == []
