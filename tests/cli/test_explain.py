"""`orchestrator explain`: what the conductor finds in somebody's function."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core.cli.jax_function import _arguments
from tests.cli.conftest import Invoke

MODULE = """
import jax
import jax.numpy as jnp

print("hello from the module")

def double(x, how="twice"):
    return 2 * x

def branches(x):
    return x if x.sum() > 0 else -x

branches.example_args = (jax.ShapeDtypeStruct((3,), "float32"),)

def attention(q, k, v):
    return jax.nn.softmax(q @ k) @ v

def make():
    return double, (jnp.ones(3),)

def needs_an_array(x=None):
    return x.T

number = 3
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    file = tmp_path / "somebodys_model.py"
    file.write_text(MODULE, encoding="utf-8")
    return str(file)


def test_a_function_with_arguments_that_are_described(invoke: Invoke, module: str) -> None:
    done = invoke("explain", f"{module}:double", "--arg", "f32[4,8]", "--arg", "how=true")
    assert done.code == 0
    assert done.out.startswith("double   (")
    assert "nothing was found" in done.out
    assert "hello" not in done.out


def test_examples_of_its_own_and_a_reason(invoke: Invoke, module: str) -> None:
    done = invoke("explain", f"{module}:branches")
    assert done.code == 0
    assert "it runs as it was: JAX cannot trace it" in done.out


def test_a_prefect_task_stands_for_its_function(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "somebodys_flow.py"
    file.write_text(
        "import jax, prefect\n"
        "from orchestrator_prefect import jax_task, optimized_flow\n"
        "@prefect.task\ndef double(x):\n    return 2 * x\n"
        "@jax_task\ndef triple(x):\n    return 3 * x\n"
        "triple.example_args = (jax.ShapeDtypeStruct((3,), 'float32'),)\n"
        "@optimized_flow\ndef whole():\n    return double(1)\n",
        encoding="utf-8",
    )
    for words in (["double", "--arg", "f32[4]"], ["triple"]):
        name, *rest = words
        done = invoke("explain", f"{file}:{name}", *rest)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"{name}   (")
    refused = invoke("explain", f"{file}:whole")
    assert refused.code == 1
    assert "is a Prefect flow; name one of its tasks" in refused.err
    assert f"orchestrator plan {file}:whole" in refused.err


def test_a_factory_and_json(invoke: Invoke, module: str) -> None:
    done = invoke("explain", f"{module}:make", "--grad", "--objective", "memory", "--json")
    plain: dict[str, Any] = json.loads(done.out)
    assert plain["function"] == "double, its gradient"
    assert plain["goal"]["objective"] == "memory"
    assert plain["reason"] == ""


def test_gradients_of_arguments_with_names(invoke: Invoke, module: str) -> None:
    specs = [f"--arg={name}=f32[8,8]" for name in ("q", "k", "v")]
    done = invoke("explain", f"{module}:attention", *specs, "--grad", "--json")
    assert json.loads(done.out)["reason"] == ""


@pytest.mark.parametrize(
    ("specs", "told"),
    [
        (["f32[4]"], "takes 3 arguments (q, k, v), 1 is given: missing a required argument: 'k'"),
        (["f32[4]"] * 4, "takes 3 arguments (q, k, v), 4 are given: too many positional"),
        (["f32[4]", "f32[4]", "x=f32[4]"], "3 are given: missing a required argument: 'v'"),
    ],
)
def test_too_few_or_too_many_arguments_are_wrong_usage(
    invoke: Invoke, module: str, specs: list[str], told: str
) -> None:
    arguments = [word for spec in specs for word in ("--arg", spec)]
    done = invoke("explain", f"{module}:attention", *arguments)
    assert done.code == 2
    assert told in " ".join(done.err.replace("│", "").split())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: None, "0 arguments"),
        (lambda q: None, "1 argument (q)"),
        (lambda q, scale=1: None, "1 to 2 arguments (q, scale)"),
        (lambda q, *more: None, "at least 1 argument (q)"),
        (lambda **more: None, "at least 0 arguments"),
    ],
)
def test_how_many_arguments_in_words(function: Any, said: str) -> None:
    assert _arguments(inspect.signature(function)) == said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["double"], "expected MODULE:FUNCTION or FILE.py:FUNCTION"),
        (["{}:double"], "--arg SPEC"),
        (["{}:triple"], "it has double, branches, attention, make"),
        (["{}:number"], "is no function but a int"),
        (["{}:double", "--arg", "f31[2]"], "expected a type and shape"),
        (["{}:double", "--arg", "f32[2]", "--deny", "tilling"], "possible: algebra"),
        (["no_such_module_here:f"], "there is no module"),
        (
            ["{}:needs_an_array"],
            "raised AttributeError: 'NoneType' object has no attribute 'T'; if it",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(
    invoke: Invoke, module: str, words: list[str], told: str
) -> None:
    done = invoke("explain", *(word.format(module) for word in words))
    assert done.code == 1
    assert told in done.err
