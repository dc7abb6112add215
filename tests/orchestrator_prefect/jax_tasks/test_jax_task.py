"""What may be marked, what is recognised, and what of it travels."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from prefect import task
from prefect.cache_policies import DEFAULT, INPUTS, NO_CACHE
from prefect.settings import PREFECT_RESULTS_PERSIST_BY_DEFAULT, temporary_settings
from prefect.tasks import Task

from orchestrator_core.conductor import conduct, kept_programs
from orchestrator_core.errors import InvalidGoal
from orchestrator_prefect import jax_task
from orchestrator_prefect.jax_tasks import process, running
from orchestrator_prefect.jax_tasks.function import JaxFunction
from orchestrator_prefect.jax_tasks.recognised import recognised
from orchestrator_prefect.sending.flow_graph import kind_of

X = np.arange(4, dtype=np.float32)


class Log:
    """Takes the place of a task run's logger."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, text: str, *values: Any) -> None:
        self.lines.append(text % values)

    info = warning


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log()
    monkeypatch.setattr(running, "_logger", lambda: made)
    return made


def double(x: Any) -> Any:
    """Doubles."""
    return 2 * x


def test_alone_it_makes_a_task_with_the_options_of_both() -> None:
    made = jax_task(memory="1GiB", deny=["loops"], retries=3, tags=["a"], name="twice")(double)
    assert isinstance(made, Task)
    assert (made.name, made.retries, made.tags) == ("twice", 3, {"a"})
    assert made.fn.options == {"memory": "1GiB", "deny": ("loops",)}
    assert (made.description, made.task_key) == ("Doubles.", task(double).task_key)
    again = made.with_options(name="other", retries=1)
    assert (again.name, again.retries, again.fn is made.fn) == ("other", 1, True)


def test_above_a_task_it_keeps_the_task() -> None:
    under = task(name="mine", retries=2, timeout_seconds=5)(double)
    made = jax_task(precision="strict")(under)
    assert (made.name, made.retries, made.timeout_seconds) == ("mine", 2, 5)
    assert made.fn.options == {"precision": "strict"}
    assert under.fn is double, "the task itself stays as it was"
    assert kind_of(made) == kind_of(under)


def test_below_a_task_it_is_that_tasks_function() -> None:
    outer = task(name="outer", retries=2)(jax_task(memory="1GiB")(double))
    made = recognised(outer)
    assert (made.name, made.retries) == ("outer", 2)
    assert isinstance(made.fn, JaxFunction)
    assert made.fn.original is double
    assert made.fn.options == {"memory": "1GiB"}
    assert kind_of(outer) == kind_of(task(name="outer")(double))


def test_prefects_task_takes_a_jit_object_which_is_recognised() -> None:
    jitted = jax.jit(double)
    made = task(retries=1)(jitted)
    assert (made.name, made.task_key) == ("double", task(double).task_key)
    found = recognised(made)
    assert isinstance(found.fn, JaxFunction)
    assert found.fn.original is jitted
    assert made.fn is jitted
    plain = task(double)
    assert recognised(plain) is plain


def test_what_conduct_gave_is_recognised_and_travels() -> None:
    conducted = conduct(double, precision="strict", deny=("loops", "tiling"))
    made = recognised(task(conducted))
    assert made.fn.original is double
    assert made.fn.options["precision"] == "strict"
    assert made.fn.options["deny"] == ("loops", "tiling")
    back = cloudpickle.loads(cloudpickle.dumps(made))
    np.testing.assert_array_equal(back.fn(X), 2 * X)
    assert back.fn.ahead().conducted.goal == conducted.goal


def test_only_where_results_are_stored_are_arguments_hashed() -> None:
    made = jax_task(double)
    assert made.cache_policy is DEFAULT
    assert recognised(made).cache_policy is NO_CACHE
    assert recognised(jax_task(persist_result=True)(double)).cache_policy is DEFAULT
    assert recognised(jax_task(cache_policy=INPUTS)(double)).cache_policy is INPUTS
    with temporary_settings({PREFECT_RESULTS_PERSIST_BY_DEFAULT: True}):
        assert recognised(made).cache_policy is DEFAULT


async def later(x: Any) -> Any:
    return x


def one_by_one(x: Any) -> Any:
    yield x


@pytest.mark.parametrize(
    ("function", "what"), [(later, "asynchronous"), (one_by_one, "a generator")]
)
def test_what_jax_can_never_trace_is_refused_at_once(function: Any, what: str) -> None:
    for given in (function, task(function)):
        with pytest.raises(TypeError, match=f"{function.__name__} is {what}, which JAX cannot"):
            jax_task(given)


def test_a_goal_that_cannot_be_and_an_argument_too_many_are_refused_by_name() -> None:
    with pytest.raises(InvalidGoal, match="precision='exact'"):
        jax_task(precision="exact")
    with pytest.raises(TypeError, match="'retries'"):
        jax_task(retries=2)(task(double))
    with pytest.raises(TypeError, match="retry"):
        jax_task(retry=2)(double)


def test_a_process_opens_the_same_function_once_and_compiles_it_once(log: Log) -> None:
    sent = [pickle.dumps(jax_task(lambda x: x * 3 + 1).fn)] * 2
    first, second = map(pickle.loads, sent)
    assert first is second
    other = pickle.loads(pickle.dumps(jax_task(lambda x: x * 4).fn))
    np.testing.assert_array_equal(first(X), 3 * X + 1)
    np.testing.assert_array_equal(second(X + 1), 3 * X + 4)
    np.testing.assert_array_equal(other(X), 4 * X)
    assert first.ahead().compiled == other.ahead().compiled == 1
    assert len(log.lines) == 2, "what was done is said when it is"
    assert re.fullmatch(
        r"<lambda>: 0 of 0 sites in another form \(the rewrites\); 16 B beside the arguments; "
        r"ready after \S+ \S+",
        log.lines[0],
    )


def test_options_make_another_function_of_it() -> None:
    strict = pickle.loads(pickle.dumps(jax_task(precision="strict")(double).fn))
    real = pickle.loads(pickle.dumps(jax_task(double).fn))
    assert strict is not real
    assert strict.ahead().conducted.goal.precision == "strict"


def test_no_more_functions_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_FUNCTIONS", 2)
    for factor in range(4):
        pickle.loads(pickle.dumps(jax_task(lambda x, factor=factor: factor * x).fn))
    assert len(process._functions) == 2


def test_why_a_function_runs_as_it_is_is_said_once(log: Log) -> None:
    def branches(x: Any, how: str) -> Any:
        return how if x.sum() > 0 else x

    function = pickle.loads(pickle.dumps(jax_task(branches).fn))
    assert function(jnp.asarray(X), "up") == function(jnp.asarray(X), "up") == "up"
    assert len(log.lines) == 1
    assert log.lines[0].startswith("branches runs as it is: JAX cannot trace it: TracerBool")


def test_if_preparing_fails_the_function_runs_as_it_is(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(running, "_prepared", fails)
    np.testing.assert_array_equal(jax_task(double).fn(X), 2 * X)
    assert log.lines == ["double runs as it is: RuntimeError: broken"]


def test_what_the_function_itself_raises_is_raised(log: Log) -> None:
    def wrong(x: Any) -> Any:
        raise ValueError("negative")

    with pytest.raises(ValueError, match="negative"):
        jax_task(wrong).fn(X)


def test_the_kill_switch_leaves_functions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_MODE", "off")
    function = jax_task(double).fn
    assert isinstance(function(X), np.ndarray)
    assert function._ahead is None


def test_what_it_compiles_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(kept_programs, "keep", lambda: asked.append("keep"))
    jax_task(double).fn(X)
    assert asked == ["keep"]


def test_jax_is_told_to_share_memory_unless_somebody_said_otherwise() -> None:
    said: dict[str, dict[str, str]] = {}
    for name, given in (
        ("nothing", {}),
        ("own", {process.PREALLOCATE: "true"}),
        ("keep", {process.KEEP: "1"}),
    ):
        said[name] = dict(given)
        process.share_memory(said[name])
    assert said["nothing"] == {process.PREALLOCATE: "false"}
    assert said["own"] == {process.PREALLOCATE: "true"}
    assert said["keep"] == {process.KEEP: "1"}


AUTHOR = """
import sys
sys.modules["jax"] = None  # whoever imports it fails
import cloudpickle
from orchestrator_prefect import jax_task

@jax_task(memory="1GiB", retries=2)
def total(n):
    import jax.numpy as jnp
    return jnp.arange(n.shape[0]).sum() + n.sum()

sys.stdout.buffer.write(cloudpickle.dumps(total))
"""


def test_who_writes_a_flow_needs_no_jax() -> None:
    done = subprocess.run([sys.executable, "-c", AUTHOR], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    total = cloudpickle.loads(done.stdout)
    assert total.retries == 2
    assert float(total.fn(np.ones(5, np.float32))) == 15.0


def test_importing_the_package_loads_neither_jax_nor_prefect() -> None:
    program = (
        "import json, sys, orchestrator_prefect, orchestrator_prefect.jax_tasks.function\n"
        "print(json.dumps([name for name in ('jax', 'prefect') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert json.loads(done.stdout) == []
