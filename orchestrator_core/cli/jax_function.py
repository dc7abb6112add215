"""A JAX function that somebody names on the command line, and what it is to be called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer

from orchestrator_core.cli.python_module import load_module
from orchestrator_core.errors import InvalidInput
from orchestrator_core.words import plural

if TYPE_CHECKING:
    from orchestrator_core.conductor import Explanation

EXPECTED = "MODULE:FUNCTION or FILE.py:FUNCTION"
MOST_NAMES = 10


@dataclass(frozen=True, slots=True)
class JaxFunction:
    """A function, and arguments or what stands for them."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def explained(self, grad: bool, **goal: Any) -> Explanation:
        """What `conduct` says of it; of its value and gradient with `grad`."""
        from orchestrator_core.conductor import conduct
        from orchestrator_core.conductor.example import value_and_gradient

        function = value_and_gradient(self.function) if grad else self.function
        return conduct(function, **goal).explain(*self.args, **self.kwargs)


def function_named(target: str, specs: Sequence[str]) -> JaxFunction:
    """The function, with the arguments that are described; else with its own examples.

    Raises:
        InvalidInput: if there is no such function, or nobody knows what to call it with.
        BadParameter: for too few or too many arguments.
    """
    if find_spec("jax") is None:
        raise InvalidInput("JAX is not installed: pip install 'jax>=0.10.2'")
    source, _, name = target.rpartition(":")
    if not source or not name.isidentifier():
        raise InvalidInput(f"{target!r} names no function; expected {EXPECTED}")
    found = _attribute(load_module(source, EXPECTED), name, source)
    function = _without_prefect(found, target)
    if specs:
        return _with_specs(function, specs)
    example = getattr(function, "example_args", getattr(found, "example_args", None))
    if example is not None:
        return JaxFunction(function, tuple(example), {})
    if _takes_nothing(function):
        return _of_factory(function, target)
    raise InvalidInput(
        f"what is {target} to be called with? Say --arg SPEC for each argument, such as "
        "--arg f32[4,128,64], or give the function an attribute `example_args`"
    )


def _attribute(module: ModuleType, name: str, source: str) -> Callable[..., Any]:
    found: Any = getattr(module, name, None)
    if callable(found):
        return found  # type: ignore[no-any-return]
    if found is not None:
        raise InvalidInput(f"{name!r} in {source} is no function but a {type(found).__name__}")
    names = [n for n, each in vars(module).items() if callable(each) and not n.startswith("_")]
    raise InvalidInput(f"{source} has no {name!r}; it has {', '.join(names[:MOST_NAMES])}")


def _without_prefect(found: Any, target: str) -> Callable[..., Any]:
    """The function that a Prefect task was made of; Prefect need not be here to tell."""
    made_by = {(each.__module__.partition(".")[0], each.__name__) for each in type(found).__mro__}
    if ("prefect", "Flow") in made_by:
        raise InvalidInput(
            f"{target} is a Prefect flow; name one of its tasks, or see what is planned for it: "
            f"orchestrator plan {target}"
        )
    if ("prefect", "Task") not in made_by:
        return found  # type: ignore[no-any-return]
    # What `@jax_task` wraps is conducted already, so its original is looked into.
    return getattr(found.fn, "original", found.fn)  # type: ignore[no-any-return]


def _with_specs(function: Callable[..., Any], specs: Sequence[str]) -> JaxFunction:
    from orchestrator_core.conductor.example import argument

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for spec in specs:
        name, equals, text = spec.partition("=")
        if equals and name.strip().isidentifier():
            kwargs[name.strip()] = argument(text)
        else:
            args.append(argument(spec))
    _check_arguments(function, args, kwargs)
    return JaxFunction(function, tuple(args), kwargs)


def _check_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Too few or too many are wrong usage, and no matter of what JAX can trace."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        given = len(args) + len(kwargs)
        raise typer.BadParameter(
            f"the function takes {_arguments(signature)}, {given} "
            f"{'is' if given == 1 else 'are'} given: {error}; say --arg SPEC for each",
            param_hint="'--arg'",
        ) from None


def _arguments(signature: inspect.Signature) -> str:
    """``3 arguments (q, k, v)``."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    usual = [each for each in signature.parameters.values() if each.kind not in variable]
    least = sum(each.default is each.empty for each in usual)
    if len(usual) < len(signature.parameters):
        count = f"at least {plural(least, 'argument')}"
    elif least < len(usual):
        count = f"{least} to {plural(len(usual), 'argument')}"
    else:
        count = plural(least, "argument")
    names = ", ".join(each.name for each in usual[:MOST_NAMES])
    return f"{count} ({names})" if names else count


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        each.default is not each.empty or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        for each in parameters
    )


def _of_factory(factory: Callable[..., Any], target: str) -> JaxFunction:
    try:
        made = factory()
    except Exception as error:  # whatever its author let it raise
        raise InvalidInput(
            f"{target}, called without arguments for a function and what to call it with, raised "
            f"{type(error).__name__}: {error}; if it takes arguments, say --arg SPEC for each"
        ) from error
    if isinstance(made, tuple) and len(made) == 2 and callable(made[0]):
        return JaxFunction(made[0], tuple(made[1]), {})
    return JaxFunction(factory, (), {})
