"""Arguments as people type them: ``f32[4,128,64]``, ``bf16[8]``, ``3``, ``true``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.errors import InvalidInput

TYPES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "bool": "bool_",
    "c64": "complex64",
    "c128": "complex128",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}

NAMES: Mapping[str, str] = {**TYPES, **{name.rstrip("_"): name for name in TYPES.values()}}
"""Short and long ones."""

SPEC = re.compile(r"(?P<type>[a-z0-9]+)\[(?P<shape>[0-9, ]*)\]")
WORDS: Mapping[str, Any] = {"true": True, "false": False, "none": None}


def argument(text: str) -> Any:
    """What stands for an argument: a shape and type, a key, a number, a word for true or none.

    ``key`` is a random key. Types of 64 bits need ``JAX_ENABLE_X64=1``.

    Raises:
        InvalidInput: naming what is possible.
    """
    text = text.strip()
    found = SPEC.fullmatch(text)
    if found and found["type"] in NAMES:
        dtype = jnp.dtype(getattr(jnp, NAMES[found["type"]]))
        shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
        stands_for: Any = jax.ShapeDtypeStruct
        return stands_for(shape, dtype)
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if text == "key":
        return jax.random.key(0)
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    raise InvalidInput(
        f"{text!r} describes no argument; expected a type and shape such as f32[4,128,64], with a "
        f"type of {', '.join(TYPES)}; or key, a number, true, false, none"
    )


def value_and_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of the sum of all results that are smooth, by all arguments that are, with a name or without;
    for explanations."""

    def both(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        smooth = [jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) for leaf in leaves]

        def total(*moved: Any) -> Any:
            those = iter(moved)
            pairs = zip(leaves, smooth, strict=True)
            now = [next(those) if is_smooth else leaf for leaf, is_smooth in pairs]
            args, kwargs = jax.tree.unflatten(tree, now)
            made = jax.tree.leaves(function(*args, **kwargs))
            return sum(jnp.sum(x) for x in made if jnp.issubdtype(x.dtype, jnp.inexact))

        moved = [leaf for leaf, is_smooth in zip(leaves, smooth, strict=True) if is_smooth]
        return jax.value_and_grad(total, tuple(range(len(moved))))(*moved)

    both.__name__ = both.__qualname__ = f"{getattr(function, '__name__', 'function')}, its gradient"
    return both
