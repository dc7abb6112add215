"""Work: what a node asks of a device, whatever the device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """Of one node, its loops included. A program that a rewrite has put into a graph carries its
    own as ``params["work"]``.

    Attributes:
        flops: additions and multiplications. transcendentals: calls of ``exp`` and the like.
        nbytes: read from and written to memory. temp_bytes: held at the worst moment beside what
            the node reads and returns. dot_flops: those of `flops` that are in matrix products.
    """

    flops: float = 0.0
    transcendentals: float = 0.0
    nbytes: float = 0.0
    temp_bytes: int = 0
    dot_flops: float = 0.0
