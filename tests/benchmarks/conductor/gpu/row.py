"""A row of the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

HEAD = (
    f"{'on a GPU':<62} {'ratio':>8} {'asked':>6} {'error':>9} {'ours':>11} {'rate':>12}"
    f" {'memory':>7} {'planned':>8}"
)


@dataclass(frozen=True)
class GpuRow:
    """Attributes:
    ratio: None where it was not measured. asked: of the ratio. error: relative to the largest.
    ours, other: seconds. tera_flops: a second, of products of what no mask leaves out.
    memory: how many times as much temporary memory the other one takes, where both are the same
        function. planned: seconds until ours is compiled.
    """

    name: str
    asked: float
    ratio: float | None = None
    error: float | None = None
    ours: float | None = None
    other: float | None = None
    tera_flops: float | None = None
    memory: float | None = None
    planned: float | None = None
    why: str = ""

    def line(self) -> str:
        if self.ratio is None or self.ours is None or self.error is None:
            return f"{self.name:<62} {'not measured':>15} {self.asked:>6g}  {self.why}"
        rate = "" if self.tera_flops is None else f"{self.tera_flops:.0f} TFLOP/s"
        ours = f"{self.ours * 1e3:.3f} ms"
        memory = "" if self.memory is None else f"{self.memory:.1f}"
        planned = "" if self.planned is None else f"{self.planned:.1f} s"
        return (
            f"{self.name:<62} {self.ratio:>8.2f} {self.asked:>6g} {self.error:>9.1e}"
            f" {ours:>11} {rate:>12} {memory:>7} {planned:>8}"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
