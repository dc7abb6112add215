"""How large the tiles of a kernel for Hopper are, and who does what."""

from __future__ import annotations

ROWS, COLUMNS = 64, 128
"""Of a tile of one group."""

GROUPS = 2
"""That compute; a third one copies."""

STAGES = 3
"""Tiles of columns in shared memory, at most."""

REGISTERS, FEW_REGISTERS = 232, 40
"""Of a thread that computes, and of one that copies."""

WIDEST = 128
"""Elements of a row that is multiplied, at most: more do not fit into registers."""
