"""Factorisations and Fourier transforms, counted as Golub and Van Loan do (Matrix Computations)."""

from __future__ import annotations

import math

from orchestrator_core.conductor.cost.rules.registry import Rule, moved, rule
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node

CUBES = {
    "cholesky": 1 / 3,
    "lu": 2 / 3,
    "qr": 4 / 3,
    "geqrf": 4 / 3,
    "householder_product": 4 / 3,
    "eig": 25.0,
    "eigh": 9.0,
    "hessenberg": 10 / 3,
    "schur": 25.0,
    "svd": 12.0,
    "tridiagonal": 4 / 3,
}
"""Flops of a factorisation of an n x n matrix, in n cubed; of an m x n one, in m n min(m, n)."""


def _factorisation(cubes: float) -> Rule:
    def work(node: Node) -> Work:
        *batch, rows, columns = node.inputs[0].shape
        flops = cubes * math.prod(batch) * rows * columns * min(rows, columns)
        return Work(flops=flops, nbytes=2 * moved(node))

    return work


for _name, _cubes in CUBES.items():
    rule(_name)(_factorisation(_cubes))


@rule("triangular_solve")
def triangular_solve(node: Node) -> Work:
    """Half of a product of the matrix with the right-hand sides."""
    size = node.inputs[0].shape[-1]
    flops = node.output.size * size
    return Work(flops=flops, nbytes=moved(node), dot_flops=flops)


@rule("tridiagonal_solve")
def tridiagonal_solve(node: Node) -> Work:
    return Work(flops=8 * node.output.size, nbytes=moved(node))


@rule("fft")
def fft(node: Node) -> Work:
    """Cooley and Tukey: 5 n log2 n, half of that where the input or the output is real."""
    lengths = node.params["fft_lengths"]
    size = max(node.inputs[0].size, node.output.size)
    log = sum(math.log2(max(2, length)) for length in lengths)
    is_real = "IRFFT" in str(node.params["fft_type"]) or "RFFT" in str(node.params["fft_type"])
    return Work(flops=5 * size * log / (2 if is_real else 1), nbytes=2 * moved(node))
