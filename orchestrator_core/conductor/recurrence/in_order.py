"""Systems in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.facts.affine import System
from orchestrator_core.conductor.ir.needed import needed
from orchestrator_core.conductor.ir.scan import Scan


def in_order(scan: Scan, systems: Sequence[System]) -> list[System]:
    """Those first that others need."""
    needs = {
        system: needed(scan.body, [scan.carry_outputs[k] for k in system.carries])
        for system in systems
    }
    inputs = scan.carry_inputs
    order: list[System] = []
    while len(order) < len(systems):
        done = {k for system in order for k in system.carries}
        order.append(
            next(
                system
                for system in systems
                if system not in order
                and all(
                    k in done or k in system.carries
                    for k, given in enumerate(inputs)
                    if given in needs[system]
                )
            )
        )
    return order
