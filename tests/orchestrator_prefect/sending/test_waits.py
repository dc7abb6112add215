"""What a flow's code waits for between its submissions becomes edges, never too many."""

from __future__ import annotations

import pytest

from orchestrator_core.execute.record import Burst
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import flow_graph
from orchestrator_prefect.sending.waited_for import bursts
from orchestrator_prefect.sending.waits import EDGES, NOTHING, Waited, Waits


class Code:
    """The code of a flow: submits and waits."""

    def __init__(self) -> None:
        self.waits = Waits()
        self.done: dict[str, Submission] = {}

    def submit(self, *names: str, went: float = 0.0, after: tuple[str, ...] = ()) -> None:
        for name in names:
            past = self.waits.now()
            self.done[name] = Submission(name, "k", name, after=after, past=past, went=went)

    def wait(self, *names: str) -> None:
        for name in names:
            self.waits.ended(name, self.done[name].past)

    @property
    def edges(self) -> set[tuple[str, str]]:
        graph = flow_graph(self.done.values())
        assert all(edge.nbytes == (edge.consumer in self.takes) for edge in graph.edges())
        return {(edge.producer, edge.consumer) for edge in graph.edges()}

    @property
    def takes(self) -> set[str]:
        return {name for name, submission in self.done.items() if submission.after}


def test_what_nobody_waited_for_makes_no_edges() -> None:
    code = Code()
    code.submit("a", "b")
    assert code.edges == set()
    assert {each.past for each in code.done.values()} == {NOTHING}


def test_what_was_waited_for_comes_before_what_is_submitted_then() -> None:
    code = Code()
    code.submit("a", "b", "c")
    code.wait("a", "b")
    code.submit("d", "e")
    assert code.edges == {("a", "d"), ("b", "d"), ("a", "e"), ("b", "e")}


def test_a_chain_of_waits_has_no_edge_that_others_imply() -> None:
    code = Code()
    for number in range(100):
        code.submit(str(number))
        code.wait(str(number), str(number))
    assert code.edges == {(str(i), str(i + 1)) for i in range(99)}


def test_what_is_waited_for_later_is_added_to_what_was_before() -> None:
    """`b` was submitted beside `a`, so `d` follows both of them."""
    code = Code()
    code.submit("a", "b")
    code.wait("a")
    code.submit("c")
    code.wait("b")
    code.submit("d")
    assert code.edges == {("a", "c"), ("a", "d"), ("b", "d")}


def test_inputs_imply_what_was_waited_for_before_them() -> None:
    code = Code()
    code.submit("a")
    code.wait("a")
    code.submit("b")
    code.submit("c", after=("b",))
    assert code.edges == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize(("many", "then"), [(200, 300), (300, 200), (5000, 1), (1, 5000), (17, 2)])
def test_many_after_many_are_few_edges_that_leave_nobody_out(many: int, then: int) -> None:
    code = Code()
    first = [f"a{i}" for i in range(many)]
    second = [f"b{i}" for i in range(then)]
    code.submit(*first)
    code.wait(*first)
    code.submit(*second)
    edges = code.edges
    assert {a for a, _ in edges} == set(first)
    assert {b for _, b in edges} == set(second)
    assert len(edges) <= EDGES * then + many


def test_taking_results_one_by_one_makes_edges_in_proportion() -> None:
    """One result after the other is handed to another task: the 500th has not 500 edges."""
    code = Code()
    code.submit(*(f"a{i}" for i in range(500)))
    for number in range(500):
        code.wait(f"a{number}")
        code.submit(f"b{number}")
    edges = code.edges
    assert {(f"a{i}", f"b{i}") for i in range(500)} <= edges
    assert len(edges) <= 500 * EDGES


def test_bursts_say_what_was_waited_for_and_how_long_the_code_took_then() -> None:
    """
    0.5 s  a b go out; a ends at 2, b at 3; 1 s of Python; at 4 s c goes out, at 4.5 s d.
    """
    code = Code()
    code.submit("a", "b", went=0.5)
    code.wait("b", "a")
    code.submit("c", went=4.0)
    code.submit("d", went=4.5)
    assert bursts(code.done.values(), {"a": 2.0, "b": 3.0, "c": 9.0}) == (
        Burst(2, (), 0.5),
        Burst(1, ("b", "a"), 1.0),
        Burst(1, (), 0.5),
    )


def test_a_share_of_what_is_waited_for_comes_around() -> None:
    waited = Waited(older=("x",), new=tuple("abcdefghijklmnopqrst"), count=21)
    assert len(set(waited.edges(0, 1))) == 20, "the only one follows all that is new"
    assert {name for i in range(3) for name in waited.edges(i, 3)} == set(waited.new)
