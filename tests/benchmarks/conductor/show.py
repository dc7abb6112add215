"""The table of the cases, as plain text."""

from __future__ import annotations

from collections.abc import Iterable

from tests.benchmarks.conductor.row import Row

HEAD = (
    f"{'case':<50} {'time':>7} {'asked':>6} {'memory':>7} {'asked':>6} {'error':>8} {'plain':>18}"
)


def table(rows: Iterable[Row]) -> str:
    """Ratios of plain ``jax.jit`` to conducted: more is better."""
    return "\n".join([HEAD, *(line(row) for row in rows)])


def line(row: Row) -> str:
    plain = f"{row.seconds[0] * 1e3:.0f} ms {row.temp_bytes[0] / 1e6:.1f} MB"
    return (
        f"{row.name:<50} {row.time_ratio:>7.2f} {_asked(row.asked_time):>6}"
        f" {row.memory_ratio:>7.1f} {_asked(row.asked_memory):>6} {row.error:>8.1e} {plain:>18}"
    )


def _asked(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:g}"
