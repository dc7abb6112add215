"""Parameters of flows that `orchestrator plan` follows, as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator_core.cli.traced import parse_parameters
from orchestrator_core.errors import InvalidInput
from tests.cli.conftest import Invoke


def test_values_are_json_or_else_text() -> None:
    texts = ["n=3", "name=big one", 'kinds=["a", "b"]', "empty=", "x = null", "url=a=b", "no=NaN2"]
    assert parse_parameters(texts) == {
        "n": 3,
        "name": "big one",
        "kinds": ["a", "b"],
        "empty": "",
        "x": None,
        "url": "a=b",
        "no": "NaN2",
    }


@pytest.mark.parametrize("text", ["n", "=3", "a b=3", "", "1=2"])
def test_what_is_no_parameter_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not NAME=VALUE"):
        parse_parameters([text])


def test_only_flows_have_parameters(invoke: Invoke, tmp_path: Path) -> None:
    failed = invoke("plan", tmp_path / "graph.json", "--param", "n=3")
    assert (failed.code, failed.out) == (2, "")
    assert "only a flow has parameters" in failed.err
