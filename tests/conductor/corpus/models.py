"""Whole models, forward and in train steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tests.conductor.corpus.case import Case, normal
from tests.models import gated, gpt, mamba, palm, resnet, s4, vit

TOKENS = np.random.default_rng(5).integers(0, gpt.V, (2, gpt.S + 1))


def _case(
    name: str,
    function: Callable[..., Any],
    parameters: Callable[[], Any],
    *arrays: Any,
    large: int = 0,
    moving: tuple[int, ...] = (0,),
) -> Case:
    return Case(
        name,
        function,
        lambda: (jax.tree.map(np.asarray, parameters()), *arrays),
        large=large,
        is_tiled=True if large else None,
        moving=moving,
        carried=1,
    )


def _mamba(name: str) -> Case:
    recurrence = getattr(mamba, name)
    function = functools.partial(mamba.block, recurrence=recurrence)
    x = normal(12 if name == "unrolled" else mamba.L, mamba.E)
    return _case(f"mamba, {name}", function, mamba.parameters, x, moving=(0, 1))


GPTS = [
    _case("gpt", gpt.unrolled, gpt.parameters, TOKENS[:, :-1], large=gpt.S),
    _case("gpt, scanned", gpt.scanned, gpt.parameters, TOKENS[:, :-1], large=gpt.S),
]

TRAIN_STEPS = [
    _case(f"gpt, {name}", step, gpt.parameters, TOKENS[:, :-1], TOKENS[:, 1:], large=gpt.S)
    for name, step in (
        ("train step", gpt.train_step),
        ("train step, scanned", gpt.scanned_train_step),
    )
]
"""Have derivatives inside."""

MODELS = [
    *GPTS,
    _case("palm", palm.forward, palm.parameters, normal(palm.S, palm.E), large=palm.S),
    _case("vit", vit.forward, vit.parameters, normal(2, vit.S, vit.E), large=vit.S),
    _case("resnet", resnet.forward, resnet.parameters, normal(1, 6, 6, resnet.C)),
    *(_mamba(name) for name in ("scanned", "unrolled", "associative")),
    _case("s4, recurrent", s4.recurrent, s4.parameters, normal(s4.L), moving=(0, 1)),
    _case("s4, convolved", s4.convolved, s4.parameters, normal(s4.L), moving=(0, 1)),
    _case("minGRU", gated.mingru, gated.mingru_parameters, normal(gated.L, gated.E), moving=(0, 1)),
    _case("LRU", gated.lru, gated.lru_parameters, normal(gated.L, gated.E), moving=(0, 1)),
]
