"""Settings for all tests: property tests give the same examples on every run and every machine.

`./dev test` shares the tests out to several processes. A file's tests stay together, and so do a
folder's that use one server.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Plans wait for code that has to be compiled first, so that they are the same on a new machine.
os.environ.setdefault("ORCHESTRATOR_COMPILE", "wait")

# The conductor chooses for the device that it assumes, not for one that is busy with tests.
os.environ.setdefault("ORCHESTRATOR_CALIBRATE", "off")

# Most of what the conductor's tests take is XLA compiling what it compiled in the last run, too.
KEPT = Path(__file__).parent.parent / ".jax_cache"
if os.access(KEPT.parent, os.W_OK):
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(KEPT))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# What a slow machine has decided about a JAX function is kept for the next run, which says so.
os.environ["ORCHESTRATOR_PLAN_CACHE"] = "off"

# A test that names no database has one that goes with it, not that of whoever runs the tests.
os.environ.pop("ORCHESTRATOR_DB", None)
os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="orchestrator-data-")
atexit.register(shutil.rmtree, os.environ["XDG_DATA_HOME"], ignore_errors=True)

settings.register_profile(
    "orchestrator",
    derandomize=True,
    deadline=None,
    max_examples=50,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("orchestrator")

TESTS = Path(__file__).parent

ONE_SERVER = ("orchestrator_prefect", "store")
"""Folders whose tests stay in one process, for the sake of a server that they share."""

THOROUGH = TESTS / "thorough.txt"
"""Names of tests that take long."""

WITHOUT_PLANS = (
    "orchestrator_prefect",
    *("conductor", "models", "store", "graph", "costs", "learn"),
    *("test_layers.py", "test_wheel.py", "test_face.py", "test_dev.py", "test_docs.py"),
)
"""What comes first, in this order: it needs no compiled code, which may still be in the making."""

PLANS_AFTER_ALL = (
    "costs/test_devices.py",
    *(
        f"orchestrator_prefect/{name}.py"
        for name in (
            "ahead/test_compiling",
            "ahead/test_look_ahead",
            "ahead/test_outlook",
            "runs/test_left",
            "settings/test_estimates",
            "test_examples",
            "test_foreseen_runs",
            "test_guide",
            "test_live_runs",
            "test_urgent_flows",
            "tracing/test_planned",
        )
    ),
)
"""Of these, what does need it: who compiles beside the compiler loses what one of them keeps."""

LONG = ("examples/test_demo.py", "plan/bounds/test_ladder.py", "plan/test_planners.py")
"""Of the files that need it those that come first, lest one process works on them at the end."""

COMPILER = pytest.StashKey[subprocess.Popen[bytes]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """The whole suite compiles the planner ahead, in a process beside its first tests, so that no
    single test's time counts it."""
    if _is_whole(session.config) and not hasattr(session.config, "workerinput"):
        from orchestrator_core.plan.warm import is_warm

        if not is_warm():
            program = "from orchestrator_core.plan.warm import compile_all; compile_all()"
            compiler = subprocess.Popen([sys.executable, "-c", program], cwd=TESTS.parent)
            session.config.stash[COMPILER] = compiler


def _is_whole(config: pytest.Config) -> bool:
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


def pytest_sessionfinish(session: pytest.Session) -> None:
    compiler = session.config.stash.get(COMPILER, None)
    if compiler is not None:
        compiler.terminate()
        compiler.wait()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """A compiler that failed makes tests slow, which then fail one by one with no word of why."""
    compiler = config.stash.get(COMPILER, None)
    if compiler is not None and compiler.returncode not in (0, -signal.SIGTERM):
        terminalreporter.write_line(f"compiling ahead failed: exit code {compiler.returncode}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those that were asked for by name run in any case."""
    lines = THOROUGH.read_text(encoding="utf-8").splitlines()
    names = {line for line in lines if line and not line.startswith("#")}
    for item in items:
        name = item.nodeid.removeprefix(f"{TESTS.name}/")
        if name in names and not any("::" in each for each in config.args):
            item.add_marker(pytest.mark.thorough)
    items.sort(key=_turn)
    found = {item.nodeid.removeprefix(f"{TESTS.name}/") for item in items}
    if _is_whole(config) and not names <= found:
        raise pytest.UsageError(f"{THOROUGH.name}: no such tests: {sorted(names - found)}")


def pytest_collection_finish() -> None:
    """Each process imports all tests, which must not compile for that."""
    from orchestrator_core.plan.warm import is_loaded

    if is_loaded():
        raise pytest.UsageError("a file of tests runs compiled code when it is imported")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: tests of servers, workers and solvers wait much."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Shares out files, and folders of one server. The processes get them in order."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            place = nodeid.split("::")[0].removeprefix(f"{TESTS.name}/")
            top = place.split("/")[0]
            return top if top in ONE_SERVER else place

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Waits before the test's own time begins."""
    if _plans(item):
        _wait_for_the_compiler()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Those that do not wait must not plan."""
    from orchestrator_core.plan.warm import is_loaded

    is_told = _plans(item) or is_loaded()
    result = yield
    assert is_told or not is_loaded(), f"it plans: {_place(item)} is of PLANS_AFTER_ALL"
    return result


@functools.cache
def _wait_for_the_compiler() -> None:
    """Until nobody compiles. What is missing then, its first test compiles."""
    from orchestrator_core.plan.warm_notes import wait_for_others

    wait_for_others()


def _turn(item: pytest.Item) -> tuple[bool, int]:
    if _plans(item):
        return True, 0 if _place(item) in LONG else 1
    return False, WITHOUT_PLANS.index(_top(item))


def _plans(item: pytest.Item) -> bool:
    return _top(item) not in WITHOUT_PLANS or _place(item) in PLANS_AFTER_ALL


def _top(item: pytest.Item) -> str:
    """The folder, or the file that is in none."""
    return _place(item).split("/")[0]


def _place(item: pytest.Item) -> str:
    """The file, from this folder on."""
    return item.path.relative_to(TESTS).as_posix()
