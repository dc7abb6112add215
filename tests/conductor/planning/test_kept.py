"""Rewritten programs that one process leaves to the next."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import _jax, conduct, rewriting
from orchestrator_core.conductor._jax import lowering
from orchestrator_core.conductor.planning import folder, planner
from orchestrator_core.conductor.planning.kept import Kept
from orchestrator_core.conductor.planning.memory import MEMORY
from tests.conductor.toys import exponentials, install, refusing

X = jnp.linspace(0.0, 1.0, 12).reshape(3, 4)


def function(x: jax.Array) -> jax.Array:
    return jnp.exp(x @ x.T).sum(0)


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Everything is kept."""
    monkeypatch.setenv("ORCHESTRATOR_PLAN_CACHE", str(tmp_path))
    monkeypatch.setattr(planner, "WORTH_DISK_S", 0.0)
    install(monkeypatch, tiling=exponentials)
    return tmp_path


def in_another_process(patch: pytest.MonkeyPatch) -> list[str]:
    """As far as what is remembered goes. What is derived from now on is told in the list."""
    MEMORY.forget()
    told: list[str] = []
    real = rewriting.rewritten

    def rewritten(graph: Any, goal: Any) -> Any:
        told.append(goal.objective)
        return real(graph, goal)

    patch.setattr(rewriting, "rewritten", rewritten)
    return told


def files(disk: Path) -> list[Path]:
    return sorted(disk.glob("*.program"))


def test_what_is_left_is_neither_planned_nor_derived_again(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    first = conduct(function)
    expected = first(X)
    derived = in_another_process(monkeypatch)
    again = conduct(function)
    np.testing.assert_array_equal(again(X), expected)
    assert derived == []
    assert again.plan["programs"] == first.plan["programs"]
    assert len(files(disk)) == 1


def test_explaining_it_first_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    first = conduct(function)
    first.explain(X)
    first(X)
    derived = in_another_process(monkeypatch)
    conduct(function)(X)
    assert derived == []


def test_what_was_left_as_it_is_is_not_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    install(monkeypatch, recurrence=refusing)
    expected = conduct(function)(X)
    assert [file.read_bytes()[-1:] for file in files(disk)] == [b"\n"], "XLA is given what it was"
    derived = in_another_process(monkeypatch)
    np.testing.assert_array_equal(conduct(function)(X), expected)
    assert derived == []


def test_it_is_derived_where_somebody_looks_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = str(conduct(function).explain(X)).split("decided")[0].split()
    conduct(function)(X)
    derived = in_another_process(monkeypatch)
    again = conduct(function)
    again(X)
    told = str(again.explain(X))
    assert derived == ["time"]
    assert "decided by the plan cache" in told
    assert told.split("decided")[0].split() == expected


OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "jit": jax.jit,
    "vmap": lambda f: lambda x: jax.vmap(f)(x[None])[0],
    "grad": lambda f: jax.grad(lambda x: f(x).sum()),
    "checkpoint": lambda f: jax.grad(lambda x: jax.checkpoint(f)(x).sum()),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
    "a loop": lambda f: lambda x: jax.lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1],
    "a branch": lambda f: lambda x: jax.lax.cond(x.sum() > 0, f, lambda x: x[0, :3], x),
    "another program": lambda f: lambda x: f(x) + f(x + 1) + function(x),
}


@pytest.mark.parametrize("outside", OUTSIDE.values(), ids=OUTSIDE)
def test_whatever_stands_outside(
    monkeypatch: pytest.MonkeyPatch, outside: Callable[[Any], Any]
) -> None:
    expected = outside(function)(X)
    for _ in range(2):
        np.testing.assert_allclose(outside(conduct(function))(X), expected, rtol=1e-5)
        np.testing.assert_allclose(jax.jit(outside(conduct(function)))(X), expected, rtol=1e-5)
        in_another_process(monkeypatch)


def test_what_is_written_down_for_others_is_lowered_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = conduct(function)(X)
    in_another_process(monkeypatch)
    for platforms in (["cpu"], ["cpu", "cuda"]):
        made = jax.export.export(jax.jit(conduct(function)), platforms=platforms)(X)
        np.testing.assert_allclose(made.call(X), expected, rtol=1e-6)
        assert f"@{lowering.NAME}" not in made.mlir_module()


def with_table(k: float) -> Callable[[jax.Array], jax.Array]:
    table = np.arange(12, dtype="float32").reshape(3, 4) * k
    return lambda x: function(x * table)


def test_other_constants_are_another_program(disk: Path) -> None:
    for k in (0.0, -0.0, 0.1, 0.1, 0.2):
        MEMORY.forget()
        ours = conduct(with_table(k))
        np.testing.assert_allclose(ours(X), with_table(k)(X), rtol=1e-6)
    assert len(files(disk)) == 4


def test_other_settings_are_another_program(disk: Path) -> None:
    def drawn(key: jax.Array) -> jax.Array:
        return jnp.exp(jax.random.uniform(key, (5,)))

    for is_partitionable in (True, False, True):
        MEMORY.forget()
        with jax.threefry_partitionable(is_partitionable):
            key = jax.random.PRNGKey(0)
            np.testing.assert_allclose(conduct(drawn)(key), drawn(key), rtol=1e-6)
    for precision in ("highest", "default"):
        MEMORY.forget()
        with jax.default_matmul_precision(precision):
            conduct(function)(X)
    assert len(files(disk)) == 4


def test_settings_that_no_operation_shows_count(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    conduct(function)(X)
    derived = in_another_process(monkeypatch)
    monkeypatch.setattr(_jax, "written_settings", lambda: "another")
    conduct(function)(X)
    assert derived == ["time"]
    assert len(files(disk)) == 2


def test_another_build_has_its_own(monkeypatch: pytest.MonkeyPatch, disk: Path) -> None:
    conduct(function)(X)
    derived = in_another_process(monkeypatch)
    monkeypatch.setattr(folder, "_build", lambda: "another")
    conduct(function)(X)
    assert derived == ["time"]


def test_what_is_checked_or_pinned_is_not_kept(disk: Path) -> None:
    for check in ("probe", "measure"):
        conduct(function, check=check)(X)
    plan = conduct(function, allow="tiling").plan
    assert files(disk) == []
    pinned = conduct(function)
    pinned.explain(X)
    conduct(function, plan=pinned.plan or plan)(X)
    assert files(disk) == []


def test_keys_are_no_plain_arrays(disk: Path) -> None:
    def drawn(key: jax.Array) -> jax.Array:
        return jnp.exp(jax.random.uniform(key, (5,)))

    key = jax.random.key(0)
    for _ in range(2):
        np.testing.assert_allclose(conduct(drawn)(key), drawn(key), rtol=1e-6)
        MEMORY.forget()
    assert files(disk) == []


def garbled(content: bytes) -> dict[str, bytes]:
    head, _, module = content.partition(b"\n")
    plain = json.loads(head)
    no_plan = json.dumps({**plain, "plan": {"format": "another"}}).encode()
    return {
        "nothing": b"",
        "no JSON": b"\x00",
        "cut off": content[: len(content) // 2],
        "cut at its head": head,
        "a bit": head + b"\n" + module[:50] + bytes([module[50] ^ 1]) + module[51:],
        "another format": no_plan + b"\n" + module,
        "a list": b"[1]\n" + module,
    }


@pytest.mark.parametrize("how", list(garbled(b'{"a": 1}\n' + bytes(60))))
def test_files_that_were_garbled_are_not_read(
    monkeypatch: pytest.MonkeyPatch, disk: Path, how: str
) -> None:
    expected = conduct(function)(X)
    (file,) = files(disk)
    whole = file.read_bytes()
    file.write_bytes(garbled(whole)[how])
    derived = in_another_process(monkeypatch)
    np.testing.assert_array_equal(conduct(function)(X), expected)
    assert derived == ["time"]
    assert file.read_bytes() == whole, "it is left to others once more"


def test_what_cannot_be_lowered_apart_is_lowered_as_ever(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    def fails(*_: object) -> bytes:
        raise ValueError("not apart")

    monkeypatch.setattr(_jax, "lowered", fails)
    np.testing.assert_allclose(conduct(function)(X), function(X), rtol=1e-6)
    assert files(disk) == []


def test_a_module_of_no_known_version_is_not_read(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    monkeypatch.setattr(_jax, "lowered", lambda *_: b"of no version")
    np.testing.assert_allclose(conduct(function)(X), function(X), rtol=1e-6)
    assert len(files(disk)) == 1


def test_lowered_under_other_settings_it_is_lowered_as_ever(disk: Path) -> None:
    made = Kept(disk / "none.program", planner.Goal(), "other settings", module=b"module")
    assert made.lowered(lambda: b"another") is None


def test_the_oldest_go_first_and_nobody_elses(tmp_path: Path) -> None:
    place = tmp_path / "full"
    place.mkdir()
    (place / "thesis.json").write_bytes(b"x" * 1000)
    os.utime(place / "thesis.json", (1e9 - 1, 1e9 - 1))
    for age, name in enumerate(["oldest", "older", "newer", "newest"]):
        (place / own(name)).write_bytes(b"x" * 100)
        os.utime(place / own(name), (1e9 + age, 1e9 + age))
    folder.make_room(place, 400)
    assert len(list(place.iterdir())) == 5
    folder.make_room(place, 399)
    assert {each.name for each in place.iterdir()} == {own("newest"), "thesis.json"}


def own(name: str) -> str:
    """As `file_for` names files."""
    made = folder.file_for(name, planner.Goal(), "program")
    assert made is not None
    return made.name


def test_what_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "replace", full)
    folder.write(tmp_path / own("one"), b"content")
    assert not list(tmp_path.iterdir())


PROGRAM = """
import json
import jax, jax.numpy as jnp, numpy as np
from orchestrator_core.conductor import conduct, rewriting
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.planning import planner

planner.WORTH_DISK_S = 0.0
derived, real = [], rewriting.rewritten
rewriting.rewritten = lambda *given: derived.append(1) or real(*given)

def nearest(x, y):
    return jnp.exp(-jnp.abs(x[:, None] - y[None, :])) @ y

x, y = np.random.default_rng(0).normal(size=(2, 64)).astype("float32")
ours = conduct(nearest, Goal(always=True))
made = np.asarray(ours(x, y))
alone = len(derived)
place = jax.NamedSharding(jax.make_mesh((2,), ("a",)), jax.P("a"))
together = jax.jit(ours, in_shardings=(place, None))(x, y)
worst = float(abs(made - nearest(x, y)).max()), float(abs(together - nearest(x, y)).max())
print(json.dumps([alone, len(derived), max(worst), made.tobytes().hex()]))
"""


def process() -> tuple[int, int, float, str]:
    """A new one, of two devices: how often it derived a program for one, and for both; how far
    these are off, and what the first made."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
        capture_output=True,
        text=True,
        check=True,
    )
    alone, both, worst, made = json.loads(done.stdout.splitlines()[-1])
    return alone, both, worst, made


def test_real_processes_of_two_devices() -> None:
    """What is left by a program for one device is taken by the next; for two it runs as it was."""
    alone, both, worst, made = process()
    assert (alone, both) == (1, 1)
    assert worst < 1e-5
    assert process() == (0, 0, worst, made)
