"""Transformers: gpt-jax, PaLM-jax and vision_transformer."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.benchmarks.conductor_models.load import load
from tests.conductor.corpus.case import Case, normal

LENGTH, WORDS = 96, 56


def gpt(repositories: Path) -> list[Case]:
    """jenkspt/gpt-jax, commit f22a46e: two layers, and its training loss."""
    module = load(repositories / "gpt-jax" / "model.py", "gpt_jax_model")
    config = module.GPTConfig(LENGTH, WORDS, 2, 2, 16, 0.0, dtype="float32")
    model = module.GPT(config)
    tokens = np.random.default_rng(0).integers(0, WORDS, (2, LENGTH + 1))
    parameters = model.init(jax.random.PRNGKey(0))

    def logits(p: Any, x: Any) -> Any:
        return model.apply(p, x, True)

    def loss(p: Any, x: Any, labels: Any) -> Any:
        log_p = jax.nn.log_softmax(logits(p, x))
        return -jnp.take_along_axis(log_p, labels[..., None], -1).mean()

    def given(*arrays: Any) -> Any:
        return lambda: (parameters, *arrays)

    x, labels = tokens[:, :-1], tokens[:, 1:]
    return [
        Case("gpt-jax", logits, given(x), LENGTH, True, (0,)),
        Case("gpt-jax, loss", loss, given(x, labels), LENGTH, True, (0,)),
    ]


def palm(repositories: Path) -> list[Case]:
    """lucidrains/PaLM-jax, commit 44a4231: `palm_lite.py`, two layers."""
    import equinox

    with warnings.catch_warnings(action="ignore"):  # equinox has better names since
        module = load(repositories / "PaLM-jax" / "palm_jax" / "palm_lite.py", "palm_lite")
        model = module.PaLM(
            num_tokens=WORDS, dim=16, dim_head=8, depth=2, heads=2, key=jax.random.PRNGKey(0)
        )
    tokens = np.random.default_rng(0).integers(0, WORDS, (LENGTH,))
    parameters, rest = equinox.partition(model, equinox.is_inexact_array)
    bias = np.asarray(model.attn_bias)

    def logits(parameters: Any, x: Any) -> Any:
        model = equinox.combine(parameters, rest)
        x = model.embedding[x]
        for block in model.layers:
            x = block(x, attn_bias=jnp.asarray(bias)[..., :LENGTH, :LENGTH]) + x
        return model.norm(x) @ model.embedding.transpose()

    return [Case("PaLM-jax", logits, lambda: (parameters, tokens), LENGTH, True, (0,))]


def vision(repositories: Path) -> list[Case]:
    """google-research/vision_transformer, commit c6de1e5: an encoder block, and a stage of its
    ResNet."""
    folder = repositories / "vision_transformer" / "vit_jax"
    resnet = load(folder / "models_resnet.py", "vit_jax.models_resnet")
    vit = load(folder / "models_vit.py", "vit_jax.models_vit")
    block = vit.Encoder1DBlock(mlp_dim=32, num_heads=2)
    stage = resnet.ResNetStage(block_size=2, nout=32, first_stride=(2, 2))
    x, image = normal(2, LENGTH, 16), normal(1, 8, 8, 32)
    of_block = block.init(jax.random.PRNGKey(0), x, deterministic=True)
    of_stage = stage.init(jax.random.PRNGKey(0), image)
    apply = functools.partial(block.apply, deterministic=True)
    return [
        Case("vision_transformer, encoder", apply, lambda: (of_block, x), LENGTH, True, (0, 1)),
        Case("vision_transformer, ResNet", stage.apply, lambda: (of_stage, image), moving=(0, 1)),
    ]
