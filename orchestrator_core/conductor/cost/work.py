"""Work: what a node asks of a device, whatever the device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """Of one node, its loops included. A program that a rewrite has put into a graph carries its
    own as ``params["work"]``, and if it was priced kernel by kernel its ``params["seconds"]``.

    Attributes:
        flops: additions and multiplications. transcendentals: of ``exp`` and the like, each is one.
        calls: so many of ``exp`` would take as long as those; all others have prices of their own.
        nbytes: read from and written to memory. temp_bytes: held at the worst moment beside what
            the node reads and returns. dot_flops: those of `flops` that are in matrix products.
        kernels: started one after another, in loops once for each step.
    """

    flops: float = 0.0
    transcendentals: float = 0.0
    nbytes: float = 0.0
    temp_bytes: int = 0
    dot_flops: float = 0.0
    kernels: float = 0.0
    calls: float = 0.0

    def __add__(self, other: Work) -> Work:
        """Of one after the other."""
        return Work(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.nbytes + other.nbytes,
            max(self.temp_bytes, other.temp_bytes),
            self.dot_flops + other.dot_flops,
            self.kernels + other.kernels,
            self.calls + other.calls,
        )

    def times(self, count: float) -> Work:
        """Of the same, `count` times one after another."""
        return Work(
            self.flops * count,
            self.transcendentals * count,
            self.nbytes * count,
            self.temp_bytes,
            self.dot_flops * count,
            self.kernels * count,
            self.calls * count,
        )
