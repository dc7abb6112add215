"""Which loops carry nothing but linear recurrences that may be done otherwise than step by step."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import jax.numpy as jnp

from orchestrator_core.conductor.facts.affine import Kind, System
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.batchable import is_batchable

MATRIX = 64
"""Elements of carries that are moved by another matrix in each step, at most."""

LINEAR = frozenset({Kind.LINEAR, Kind.FREE})


def is_smooth(scan: Scan, systems: Sequence[System], kinds: Collection[Kind] = LINEAR) -> bool:
    """Are all systems of these kinds, of numbers that are no whole ones, and can all that a step
    does be done for many steps at once?"""
    smooth = all(jnp.issubdtype(each.dtype, jnp.inexact) for each in scan.carry_inputs)
    batchable = all(is_batchable(node) for node in scan.body.nodes)
    return smooth and batchable and {system.kind for system in systems} <= set(kinds)


def is_alike(scan: Scan, system: System) -> bool:
    """Are all carries of an elementwise system of one shape and type?"""
    return system.is_elementwise and len({scan.carry_inputs[k].aval for k in system.carries}) == 1


def matrix_size(scan: Scan, system: System) -> int | None:
    """Rows of a matrix that moves all carries of a system; None if there is none."""
    mine = [scan.carry_inputs[k] for k in system.carries]
    is_one = system.kind in LINEAR and len({each.dtype for each in mine}) == 1
    return sum(each.size for each in mine) if is_one else None
