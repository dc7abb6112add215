"""One case under one transform: conducted, original, exact, and what is left of pairwise values."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import Conducted, Goal
from tests.conductor.corpus.case import Case, shaken, wide
from tests.conductor.corpus.judge import Verdict, judged
from tests.conductor.corpus.transforms import TRANSFORMS, Wrap

CONSTANT = re.compile(r'stablehlo.constant dense<[\["].*tensor<((?:\d+x)+)')
"""Not one that is the same number everywhere."""

SHAKES = 8
"""How often the last digits of arguments are changed by chance, to see what they count."""

TENSOR = re.compile(r"tensor<((?:\d+x)+)(?:f64|f32|f16|bf16)>")


@dataclass(frozen=True)
class Outcome:
    """Attributes:
    was_pairwise, is_pairwise: does the original, does the conducted program make a value with
        two large axes that is neither given nor returned?
    """

    case: Case
    transform: str
    verdict: Verdict
    was_pairwise: bool
    is_pairwise: bool

    @property
    def is_recognised(self) -> bool:
        return self.was_pairwise and not self.is_pairwise

    def __str__(self) -> str:
        return f"{self.case.name} [{self.transform}]"


def examined(case: Case, transform: str, goal: Goal) -> Outcome:
    """Compiles and runs the case thrice: conducted, as it was, and (if in doubt) in float64."""
    arguments = case.arguments()

    def built(wrap: Wrap) -> Callable[..., Any]:
        return jax.jit(TRANSFORMS[transform](case, wrap))

    with x64() if case.is_x64 else contextlib.nullcontext():
        ours = built(lambda function: Conducted(function, goal)).lower(*arguments)
        theirs = built(lambda function: function).lower(*arguments)
        plain = theirs.compile()
        conducted, original = ours.compile()(*arguments), plain(*arguments)

    def exact() -> Any:
        with x64():
            return built(lambda function: function)(*wide(arguments))

    def moved() -> list[Any]:
        with x64() if case.is_x64 else contextlib.nullcontext():
            return [plain(*shaken(arguments, seed)) for seed in range(SHAKES)]

    def written() -> Any:
        with x64() if case.is_x64 else contextlib.nullcontext():
            return TRANSFORMS[transform](case, lambda function: function)(*arguments)

    verdict = judged(conducted, original, exact, goal.is_strict, moved)
    if not verdict.is_right:
        # XLA may leave out conversions to a narrow type and back, which the conductor may keep.
        one_by_one = written()
        again = judged(conducted, one_by_one, lambda: one_by_one, is_strict=True)
        verdict = again if again.is_right else verdict
    return Outcome(
        case,
        transform,
        verdict,
        _has_pairs(theirs.as_text(), case.large, (arguments, original)),
        _has_pairs(ours.as_text(), case.large, (arguments, original)),
    )


def changed_bits(case: Case, transform: str) -> str:
    """Where a conducted function in which nothing may be rewritten differs; empty if nowhere."""
    arguments = case.arguments()
    with x64() if case.is_x64 else contextlib.nullcontext():
        nothing = Goal(allow=frozenset())
        conducted = jax.jit(
            TRANSFORMS[transform](case, lambda function: Conducted(function, nothing))
        )(*arguments)
        original = jax.jit(TRANSFORMS[transform](case, lambda function: function))(*arguments)
    theirs = dict(jax.tree_util.tree_leaves_with_path(original))
    for path, ours in jax.tree_util.tree_leaves_with_path(conducted):
        if np.asarray(ours).tobytes() != np.asarray(theirs[path]).tobytes():
            return f"at {jax.tree_util.keystr(path) or 'the result'}"
    return ""


@contextlib.contextmanager
def x64() -> Iterator[None]:
    """Numbers of 64 bits are allowed meanwhile."""
    enabled: Any = getattr(jax, "enable_x64", None)
    if enabled is None:
        from jax.experimental import enable_x64 as enabled
    with enabled(True):
        yield


def _has_pairs(text: str, large: int, trees: Any) -> bool:
    """Does a lowered program make a floating-point value with two large axes, or with one that is
    as long as both? One that is given, constant or returned (and what is as small) does not count.
    """
    if not large:
        return False
    shapes = [tuple(leaf.shape) for leaf in jax.tree.leaves(trees)]
    lines = text.splitlines()
    shapes += [_dims(dims) for line in lines for dims in CONSTANT.findall(line)]
    given = max((math.prod(shape) for shape in shapes if _is_pair(shape, large)), default=0)
    made = {
        dims for line in lines if "stablehlo.constant" not in line for dims in TENSOR.findall(line)
    }
    return any(_is_pair(shape, large) and math.prod(shape) > given for shape in map(_dims, made))


def _dims(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text[:-1].split("x"))


def _is_pair(shape: tuple[int, ...], large: int) -> bool:
    longest = sorted(shape, reverse=True)
    return bool(longest) and (
        longest[0] >= large * large or (len(longest) > 1 and longest[1] >= large)
    )
