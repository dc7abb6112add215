"""Machine code is kept for the source that it was made from, and nobody else's is moved."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from numba import config
from numba.core.caching import FunctionCache

from orchestrator_core.plan.engine import code_cache
from orchestrator_core.plan.engine.compiled import Kernel
from orchestrator_core.plan.engine.kernel_cache import VERSIONS, KernelCache, _Place
from orchestrator_core.plan.engine.locked import locked
from tests.homeless import leave_home

KERNELS = """
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.deep import helper
"""


def package(root: Path) -> Path:
    """Kernels, what they import, and a file that has nothing to do with them."""
    (root / "engine").mkdir(parents=True)
    (root / "engine" / "kernels.py").write_text(KERNELS)
    (root / "deep.py").write_text("def helper(): return 1\n")
    (root / "apart.py").write_text("x = 1\n")
    return root


def key(plan: Path, module: str) -> str:
    return code_cache._hash(code_cache.closure(code_cache.texts_of(plan), [module]))


TINY = """
from orchestrator_core.plan.engine.compiled import compiled

@compiled
def scaled(x):
    return {body}
"""

ASKED = """
from orchestrator_core.plan.tiny import scaled

print(scaled(3), "found" if scaled.machine.stats.cache_hits else "made")
"""


def ranked(x: float) -> float:
    return x


ranked.__module__ = "orchestrator_core.plan.engine.ranks"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own for machine code."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "mine"))
    code_cache.folder.cache_clear()
    code_cache.folder_of.cache_clear()
    yield tmp_path / "mine"
    code_cache.folder.cache_clear()
    code_cache.folder_of.cache_clear()


def test_the_key_is_the_source_of_a_module_and_of_what_it_imports(tmp_path: Path) -> None:
    plan = package(tmp_path / "plan")
    assert sorted(code_cache.closure(code_cache.texts_of(plan), ["engine.kernels"])) == [
        "deep",
        "engine.kernels",
    ]
    before = key(plan, "engine.kernels")
    (plan / "apart.py").write_text("x = 2\n")
    assert key(plan, "engine.kernels") == before
    (plan / "deep.py").write_text("def helper(): return 2\n")
    assert key(plan, "engine.kernels") != before


def test_the_key_does_not_depend_on_where_the_package_is(tmp_path: Path) -> None:
    here, there = package(tmp_path / "a"), package(tmp_path / "b")
    assert key(here, "engine.kernels") == key(there, "engine.kernels")


def test_modules_that_import_each_other_are_no_riddle(tmp_path: Path) -> None:
    plan = package(tmp_path / "plan")
    (plan / "deep.py").write_text("from orchestrator_core.plan.engine.kernels import x\n")
    assert key(plan, "deep") == key(plan, "engine.kernels")


def test_what_is_compiled_into_a_kernel_is_in_its_key() -> None:
    found = code_cache.closure(code_cache._texts(), ["search.lane_anneal"])
    assert {"engine.expand", "search.lane_decode"} <= set(found)
    assert "portfolio" not in found


def test_it_is_below_the_folder_that_the_user_has_chosen(place: Path) -> None:
    folder = code_cache.folder_of("orchestrator_core.plan.engine.lanes")
    assert folder is not None
    assert folder.parent == place / "orchestrator"
    assert folder.name.startswith("engine.lanes-")


def test_kernels_are_kept_below_it_and_nobody_elses_code(place: Path) -> None:
    mine, other = KernelCache(ranked), KernelCache(package)
    assert place / "orchestrator" in Path(mine.cache_path).parents
    assert Path(mine.cache_path).name == VERSIONS
    assert Path(other.cache_path).parent == place


def test_numba_decides_where_nothing_can_be_written(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write_text("a file, not a folder")
    assert code_cache.folder() is None
    ways = FunctionCache._impl_class._locator_classes
    # In older ones with an underscore before its name.
    (beside,) = [way for way in ways if way.__name__.strip("_") == "InTreeCacheLocator"]
    monkeypatch.setattr(beside, "get_cache_path", lambda self: str(tmp_path / "numba"))
    assert KernelCache(ranked).cache_path == str(tmp_path / "numba")


def test_without_a_home_nothing_is_kept_and_code_is_compiled(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose user has none and may not write where this is installed."""
    leave_home(monkeypatch)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(KernelCache._impl_class, "_locator_classes", [_Place])
    assert code_cache.folder() is None
    assert Kernel(ranked, from_python=True)(2.5) == 2.5


def test_what_was_compiled_in_one_environment_is_found_by_another(tmp_path: Path) -> None:
    """The same sources and libraries at another place; other sources compile their own."""
    assert [outcome(tmp_path, place, "2 * x") for place in ("a", "b")] == ["6 made", "6 found"]
    assert outcome(tmp_path, "c", "3 * x") == "9 made"


def outcome(folder: Path, place: str, body: str) -> str:
    """Of a kernel in a copy of the package."""
    root = Path(code_cache.SOURCES).parent
    copy = folder / place / "orchestrator_core"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("conductor", "__pycache__"))
    (copy / "plan" / "tiny.py").write_text(TINY.format(body=body))
    done = subprocess.run(
        [sys.executable, "-P", "-c", ASKED],
        env={**os.environ, "PYTHONPATH": str(copy.parent), "NUMBA_CACHE_DIR": str(folder / "kept")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_folders_that_nobody_uses_any_more_go(tmp_path: Path) -> None:
    for name in ("old", "young"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / "old", (1e9, 1e9))
    code_cache.drop_old(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["young"]


def test_the_simulators_kernels_are_looked_after_too(place: Path) -> None:
    kernel = f"{code_cache.SIMULATOR}.planned"
    found = code_cache.closure(code_cache._texts(), [kernel])
    assert {f"{code_cache.SIMULATOR}.cluster", "engine.compiled", "engine.expand"} <= set(found)
    assert "portfolio" not in found
    folder = code_cache.folder_of(kernel)
    assert folder is not None
    assert folder.name.startswith(kernel)


def test_who_keeps_code_is_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processes that compile at once neither loses what the other keeps."""
    from orchestrator_core.plan.engine.machine import dispatcher

    module = "orchestrator_core.plan.engine.ranks"
    folder = code_cache.folder_of(module)
    assert folder is not None
    free: list[bool] = []

    def save(*what: object) -> None:
        with locked(folder / "lock", wait=False) as mine:
            free.append(mine)

    twice = Kernel(_twice, True)
    _twice.__module__ = module
    monkeypatch.setattr(FunctionCache, "save_overload", lambda self, *what: save(*what))
    assert dispatcher(twice)(2.0) == 4.0
    assert free == [False]
    with locked(folder / "lock", wait=False) as mine:
        assert mine, "only while it is kept"


def _twice(x: float) -> float:
    return 2.0 * x
