"""Random numbers: Threefry-2x32 with 20 rounds, Salmon and others 2011, and XLA's own."""

from __future__ import annotations

from orchestrator_core.conductor.cost.rules.registry import made, moved, rule
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node

BLOCK_FLOPS = 120
"""A round adds, rotates (three operations) and xors; after each four of 20 the key is added."""


@rule("threefry2x32")
def threefry(node: Node) -> Work:
    """A block makes one element of each of two outputs."""
    return Work(flops=BLOCK_FLOPS * node.outputs[0].size, nbytes=moved(node))


@rule("random_bits", "rng_bit_generator", "rng_uniform")
def bits(node: Node) -> Work:
    """JAX takes a block for each element, that an element may be drawn without the others. Rounds
    of Threefry make two arrays of two."""
    is_in_rounds = "fry" in str(node.inputs[0].dtype)
    more = 3 * node.outputs[-1].nbytes if is_in_rounds else 0
    return Work(flops=BLOCK_FLOPS * made(node), nbytes=moved(node), temp_bytes=more)


@rule("random_fold_in", "random_seed", "random_split")
def keys(node: Node) -> Work:
    return Work(flops=BLOCK_FLOPS * made(node), nbytes=moved(node))
