"""What may be said of each setting, and how it is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator_core.errors import InvalidInput
from orchestrator_core.settings import SETTINGS, checked

UNDERSTOOD = [
    ("mode", "observe", "observe"),
    ("mode", " OFF ", "off"),
    ("mode", "Observe", "observe"),
    ("mode", False, "off"),  # what YAML makes of a bare `off`
    ("store", "  sqlite:///a.db ", "sqlite:///a.db"),
    ("store", Path("a.db"), "a.db"),
    ("objective", "price, makespan", "price,makespan"),
    ("objective", "Price,MAKESPAN", "price,makespan"),
    ("objective", ["Price"], "price"),
    ("objective", ["tardiness", "price"], "tardiness,price"),
    ("deadline", "1.5min", 90.0),
    ("deadline", 90, 90.0),
    ("deadline", timedelta(hours=1), 3600.0),
    ("max_price", "2.5", 2.5),
    ("min_gain", 0, 0.0),
    ("report", "off", False),
    ("report", 1, True),
    ("compile", " WAIT", "wait"),
    ("min_tasks", "12", 12),
    ("hung_after", "0s", 0.0),
    ("plan_wait", "150ms", 0.15),
    ("worker_price", "0", 0.0),
    ("hung_after", "0.0", 0.0),
    ("hung_after", "0ms", 0.0),
    ("hung_after", False, 0.0),  # a bare `off` again
    ("max_price", np.int64(3), 3.0),
    ("max_price", np.float32(0.5), 0.5),
    ("min_tasks", np.int64(3), 3),
    ("deadline", np.int64(90), 90.0),
    ("plan_wait", np.int64(0), 0.0),
]


@pytest.mark.parametrize(("name", "said", "value"), UNDERSTOOD)
def test_what_is_said_is_understood(name: str, said: Any, value: Any) -> None:
    found = checked(SETTINGS[name], said, name)
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    ("mode", "fast", r"mode = 'fast' is no mode; choose one of auto, director, restrict, observe"),
    ("store", "", "store is no text"),
    ("store", 7, "store is no text"),
    (
        "objective",
        "speed",
        r"objective = 'speed' is no objective: .* there are makespan, tardiness",
    ),
    ("objective", 3, "is no objective; expected criteria"),
    ("objective", "", "is no objective"),
    ("deadline", "soon", "deadline = 'soon' is no time > 0, such as 90, 90s or 1.5min"),
    ("deadline", "3 oxen", "is no time > 0"),
    ("deadline", -1, "deadline = -1 is no time > 0"),
    ("deadline", 0, "is no time > 0"),
    ("deadline", float("nan"), "is no time > 0"),
    ("deadline", True, "is no time > 0"),
    ("max_price", "much", "max_price = 'much' is no number > 0"),
    ("max_price", 0, "is no number > 0"),
    ("min_gain", 1, "min_gain = 1 is no part >= 0 and < 1"),
    ("report", "perhaps", "report = 'perhaps' is neither true nor false"),
    ("min_tasks", 0, "is no whole number >= 1"),
    ("min_tasks", 2.5, "is no whole number >= 1"),
    ("worker_price", -1, "is no number >= 0"),
    ("max_price", 10**400, "max_price = a whole number of more than 308 digits is no number > 0"),
    ("deadline", 10**400, "is no time > 0"),
    ("min_gain", 10**400, "is no part >= 0 and < 1"),
    ("min_tasks", 10**400, "is no whole number >= 1"),
    ("plan_wait", 10**400, "is no time >= 0"),
    ("plan_wait", -1, "is no time >= 0"),
    ("plan_wait", True, "is no time >= 0"),
    ("plan_wait", timedelta(seconds=-1), "is no time >= 0"),
    ("mode", 3, "mode = 3 is no mode"),
    ("compile", "now", "compile = 'now' is not wait"),
]


@pytest.mark.parametrize(("name", "said", "message"), REFUSED, ids=lambda said: str(said)[:40])
def test_what_makes_no_sense_is_refused_with_what_is_possible(
    name: str, said: Any, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        checked(SETTINGS[name], said, name)


def test_a_refused_secret_is_not_repeated() -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(SETTINGS["store"], ["postgresql://me:hunter2@host/db"], "ORCHESTRATOR_DB")
    assert "hunter2" not in str(refused.value)
    assert "ORCHESTRATOR_DB" in str(refused.value)


def test_every_default_is_what_is_read_from_it() -> None:
    for setting in SETTINGS.values():
        if setting.default is not None:
            assert setting.read(setting.default) == setting.default, setting.name


def test_the_database_keeps_its_old_variable_and_the_others_are_called_alike() -> None:
    variables = {name: setting.variable for name, setting in SETTINGS.items()}
    assert variables.pop("store") == "ORCHESTRATOR_DB"
    assert variables == {name: f"ORCHESTRATOR_{name.upper()}" for name in variables}
