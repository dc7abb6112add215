"""Is what is conducted right, and how much is recognised? `./dev bench conductor_corpus`.

Attention as many people write it, other computations over pairs, whole models, and near-misses,
under JAX's transforms: each is conducted with every rewrite that is right, whether it gains or not,
and judged against the original and a float64 evaluation.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

SHOWS_ITSELF = True
"""Prints a line for each set and transform, and what is wrong; all figures go to `--json`."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("conductor_corpus")
    group.add_argument("--corpus", default="", help="some of the sets, separated by ;")
    group.add_argument("--transforms", default="", help="some of them, separated by commas")
    group.add_argument("--named", default="", help="only cases whose name has this")
    group.add_argument("--precision", default="real", help="real or strict")
    group.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from tests.benchmarks.conductor_corpus.run import run

    return run(options)
