"""Public models, run from their repositories: `./dev bench conductor_models --repositories DIR`.

DIR holds clones named gpt-jax, PaLM-jax, vision_transformer, mamba-jax, mamba-minimal-jax and
annotated-s4; one that is missing is said so in a line. Weights are small and random. Each model is
conducted with nothing allowed (bitwise equal), and with every rewrite (right), forward and with
its gradients.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHOWS_ITSELF = True


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("conductor_models")
    group.add_argument("--repositories", type=Path, metavar="DIR", help="folder of clones")
    group.add_argument("--models", default="", help="only those whose name has this")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    if options.repositories is None:
        print("conductor_models: no --repositories, nothing to run")
        return {}
    from tests.benchmarks.conductor_models.run import run

    return run(options.repositories, options.models)
