"""A flow that cannot be followed is refused by line and reason, before anything happens."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import flow

from orchestrator_prefect.tracing.trace import trace
from orchestrator_prefect.tracing.watch import Refused

from . import refused_flows

MARK = "# here: "

SECONDS = {"never_ends": 0.2}
"""How long it may take."""


def marked(function: Callable[..., Any]) -> tuple[int, str]:
    """Line and words that its comment names, in it or in the function that it calls."""
    for each in (function, refused_flows.helper):
        lines, first = inspect.getsourcelines(each)
        for number, text in enumerate(lines, first):
            if MARK in text:
                return number, text.partition(MARK)[2].strip()
    raise AssertionError(f"{function.__name__} names no line")


@pytest.mark.parametrize("function", refused_flows.TABLE, ids=lambda each: each.__name__)
def test_the_line_is_named_and_nothing_happens(
    function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_flows, "CANARY", tmp_path / "canary")
    number, words = marked(function)
    with pytest.raises(Refused) as caught:
        trace(
            flow(function), {}, seconds=0.2 if function.__name__ == "never_ends" else 20, tasks=50
        )
    message = str(caught.value)
    place, _, rest = message.partition(": `")
    why = rest.rpartition("`: ")[2]
    assert place.endswith(f"{Path(refused_flows.__file__).name}:{number}")
    assert words in why
    assert list(tmp_path.iterdir()) == []
    assert refused_flows.LOG.tell() == 0
