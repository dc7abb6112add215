"""Names that outlive Dask's tokens."""

from __future__ import annotations

import uuid

from dask.base import tokenize

from orchestrator_core.execute.dask.graphs.names import stable_names
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph import TaskGraph


def token() -> str:
    return tokenize(uuid.uuid4().hex)


def test_tokens_are_left_out_and_positions_stay() -> None:
    keys: list[Key] = [(f"sum-{token()}", 0, 1), f"load-{uuid.uuid4()}", f"inc-{uuid.uuid4()}-3"]
    assert stable_names(keys, [()] * 3) == ("('sum', 0, 1)", "load", "inc-3")


def test_keys_without_tokens_are_their_own_names() -> None:
    keys: list[Key] = ["a-1", ("x", 0), 7, "face-b00c"]
    assert stable_names(keys, [()] * 4) == ("a-1", "('x', 0)", "7", "face-b00c")


def test_a_key_that_is_all_token_keeps_it() -> None:
    key = token()
    assert stable_names([key], [()]) == (key,)


def two_sums() -> tuple[str, ...]:
    """x -> sum, and x -> double -> sum; the names in a fixed order."""
    x, double, one, two = ((f"{name}-{token()}", 0) for name in ("x", "double", "sum", "sum"))
    return stable_names([two, x, one, double], [[double], [], [x], [x]])


def test_layers_that_read_the_same_are_told_apart_by_what_they_read() -> None:
    names = two_sums()
    assert len(set(names)) == 4
    assert names == two_sums(), "the same in the next run, under other tokens"
    assert (names[1], names[3]) == ("('x', 0)", "('double', 0)")
    assert all(name.startswith("('sum', 0)@") for name in (names[0], names[2]))


def test_what_looks_alike_keeps_its_token() -> None:
    """Two models trained on the same data: which of them is slow is not for a name to guess."""
    data, one, two = (f"{name}-{token()}" for name in ("data", "train", "train"))
    assert stable_names([data, one, two], [[], [data], [data]]) == ("data", one, two)


def test_a_long_chain_of_equal_steps() -> None:
    keys: list[Key] = [f"inc-{token()}" for _ in range(3000)]
    names = stable_names(keys, [[], *([key] for key in keys[:-1])])
    again: list[Key] = [f"inc-{token()}" for _ in range(3000)]
    assert stable_names(again, [[], *([key] for key in again[:-1])]) == names


def test_no_two_names_are_the_same() -> None:
    assert stable_names([1, "1", "1#2"], [()] * 3) == ("1", "1#2", "1#2#2")


def test_hostile_keys_have_names_that_a_graph_takes() -> None:
    keys = [
        "a" * 5000,
        "a" * 5001,
        "new\nline",
        "\ud800",
        "",
        "{x!r}",
        "naïve ünïcode",
        ("x", "\0"),
    ]
    names = stable_names(keys, [()] * len(keys))
    assert len(set(names)) == len(keys)
    assert TaskGraph.from_columns(names=names).names == names
    assert names[5:7] == ("{x!r}", "naïve ünïcode")
