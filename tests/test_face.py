"""The public face: what `__all__` promises is there, stays there, and costs little to import."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

HEAVY = ["prefect", "distributed", "jax", "sqlalchemy", "ortools", "numba"]

FACE = """
import importlib, inspect, json, pkgutil, sys
face = importlib.import_module(sys.argv[1])
named = {name: getattr(face, name) for name in face.__all__}
own = [
    name for name, value in vars(face).items()
    if not name.startswith("_") and not inspect.ismodule(value)
    and str(getattr(value, "__module__", "")).startswith("orchestrator_")
]
told = {
    "all": list(face.__all__),
    "own": own,
    "dir": [name for name in dir(face) if name in named],
    "undocumented": [n for n, v in named.items() if callable(v) and not inspect.getdoc(v)],
}
for module in pkgutil.iter_modules(face.__path__, face.__name__ + "."):
    importlib.import_module(module.name)
named = {name: getattr(face, name) for name in face.__all__}
told["hidden"] = [n for n, v in named.items() if inspect.ismodule(v) and not callable(v)]
print(json.dumps(told))
"""

LOADED = """
import json, sys
import orchestrator_core
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""

SECONDS = """
import time
start = time.process_time()
import orchestrator_core
print(time.process_time() - start)
"""


def fresh(program: str, *arguments: str) -> str:
    """What a program prints in an interpreter that has imported nothing yet."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["orchestrator_core", "orchestrator_prefect"])
def face(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a package shows when it is imported, and then when all its submodules are."""
    told: dict[str, Any] = json.loads(fresh(FACE, request.param))
    return told


def test_the_promised_names_are_the_names_that_are_there(face: dict[str, Any]) -> None:
    assert face["all"], "an empty face promises nothing"
    assert len(set(face["all"])) == len(face["all"])
    assert sorted(face["dir"]) == sorted(face["all"]), "dir() must show what can be had"
    assert set(face["own"]) <= set(face["all"])
    assert face["undocumented"] == []


def test_no_submodule_takes_the_place_of_a_public_name(face: dict[str, Any]) -> None:
    """`plan` names a call and a package: importing the package must not hide the call."""
    assert face["hidden"] == []


def test_importing_the_core_loads_nothing_heavy() -> None:
    loaded = json.loads(fresh(LOADED))
    assert "orchestrator_core" in loaded
    assert not set(HEAVY) & set(loaded)


def test_importing_the_core_takes_less_than_a_fifth_of_a_second() -> None:
    """Of the processor's time, and the best of several: a busy machine does not decide."""
    assert min(float(fresh(SECONDS)) for _ in range(5)) < 0.2
