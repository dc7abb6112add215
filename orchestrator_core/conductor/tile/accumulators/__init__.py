"""What is carried from tile to tile."""

from orchestrator_core.conductor.tile.accumulators.along_diagonals import AlongDiagonals
from orchestrator_core.conductor.tile.accumulators.base import Accumulator, Tiles
from orchestrator_core.conductor.tile.accumulators.block_totals import BlockTotals
from orchestrator_core.conductor.tile.accumulators.k_largest import KLargest
from orchestrator_core.conductor.tile.accumulators.picked import Picked
from orchestrator_core.conductor.tile.accumulators.reduced import Reduced
from orchestrator_core.conductor.tile.accumulators.running_max import RunningMax
from orchestrator_core.conductor.tile.accumulators.scattered import Scattered
from orchestrator_core.conductor.tile.accumulators.stored import Stored
from orchestrator_core.conductor.tile.accumulators.summed import Summed

__all__ = [
    "Accumulator",
    "AlongDiagonals",
    "BlockTotals",
    "KLargest",
    "Picked",
    "Reduced",
    "RunningMax",
    "Scattered",
    "Stored",
    "Summed",
    "Tiles",
]
