"""Options of the chaos tests, and the table of what they found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.ledger import Ledger

LEDGER = pytest.StashKey[Ledger]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos")
    group.addoption("--kills", type=int, default=40, help="worker kills in the long test")
    group.addoption("--chaos-json", default=None, help="write the table of faults to this file")
    group.addoption(
        "--slack", type=float, default=5.0, help="seconds beyond the goal that a test forgives"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEDGER] = Ledger(config.getoption("--slack", 5.0))


def pytest_runtestloop(session: pytest.Session) -> None:
    """Compiled code is loaded before the first story, whose time would count it; on a new machine
    it is made first, which takes longer than a test may."""
    chosen = any(item.get_closest_marker("chaos") for item in session.items)
    if chosen and not session.config.option.collectonly:
        from orchestrator_core.plan.warm import warm_up

        warm_up()


@pytest.fixture
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """The runs so far, all modules together."""
    return request.config.stash[LEDGER]


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """How many workers the long test kills."""
    found: int = request.config.getoption("--kills", 40)
    return found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    ledger = config.stash[LEDGER]
    if not ledger.rows:
        return
    terminalreporter.section("chaos: seconds (goal <= 1.25 x plain + 1 s)")
    for line in ledger.table():
        terminalreporter.write_line(line)
    where = config.getoption("--chaos-json", None)
    if where:
        Path(where).write_text(json.dumps(ledger.as_rows(), indent=1), encoding="utf-8")
