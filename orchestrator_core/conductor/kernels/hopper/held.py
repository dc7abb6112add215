"""What the groups of a program hold in common: shared memory, and barriers that tell what
is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.hopper.sizes import COLUMNS, GROUPS, ROWS

if TYPE_CHECKING:
    from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel


@dataclass(frozen=True)
class Held:
    """Attributes:
    queries: a tile for each group. keys, values: tiles of columns, one for each stage.
    query_is_there, key_is_there, value_is_there: told by copies that have arrived.
    key_is_free, value_is_free: told by groups that have read them. turn: whose it is to multiply.
    """

    queries: Any
    keys: Any
    values: Any
    query_is_there: Any
    key_is_there: Any
    value_is_there: Any
    key_is_free: Any
    value_is_free: Any
    turn: Any

    def take_turns(self) -> None:
        """Tells the other group that it is its turn, and waits for one's own."""
        mosaic.arrive(self.turn)
        mosaic.wait(self.turn)


def scratch_of(kernel: HopperKernel, dtypes: Sequence[Any]) -> list[Any]:
    """What has to be there for a `Held`, for leaves of these types."""
    (d, width), stages = kernel.widths, kernel.stages
    keys = _shape(kernel.is_turned(kernel.masked.key), d)
    values = _shape(kernel.is_turned(kernel.masked.value), width)
    return [
        mosaic.shared((GROUPS, ROWS, d), dtypes[kernel.masked.query]),
        mosaic.shared((stages, *keys), dtypes[kernel.masked.key]),
        mosaic.shared((stages, *values), dtypes[kernel.masked.value]),
        mosaic.barriers(GROUPS),
        mosaic.barriers(stages),
        mosaic.barriers(stages),
        mosaic.barriers(stages, GROUPS),
        mosaic.barriers(stages, GROUPS),
        mosaic.barriers(1, GROUPS),
    ]


def _shape(is_turned: bool, width: int) -> tuple[int, int]:
    return (width, COLUMNS) if is_turned else (COLUMNS, width)
