"""What is known of a loop: its systems of carries, in all domains."""

from __future__ import annotations

from orchestrator_core.conductor.facts.affine import Kind, Loop, System, systems
from orchestrator_core.conductor.facts.linear import Linear
from orchestrator_core.conductor.facts.log_linear import LogLinear
from orchestrator_core.conductor.facts.tropical import Tropical
from orchestrator_core.conductor.ir.found_once import found_once
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value


def systems_of(scan: Scan) -> list[System]:
    """All systems of carries of a loop, each of the first kind that is proven."""
    return list(_systems(scan.body, scan.carry_inputs))


@found_once
def _systems(body: Graph, given: tuple[Value, ...]) -> tuple[System, ...]:
    """A body hands on its carries first."""
    loop = Loop(body, given, body.outputs[: len(given)])
    return tuple(systems(loop, [Linear(), Tropical(), LogLinear(body)]))


def in_words(found: list[System]) -> str:
    """``a recurrence that is affine, elementwise, in 2 carries``, or what keeps it from that."""
    broken = next((system for system in found if system.kind is Kind.NONE), None)
    if broken is not None:
        node = broken.broken
        because = "" if node is None else f": {node.name} of what it carries"
        return f"a loop that is not affine{because}"
    kinds = [kind.value for kind in Kind if any(system.kind is kind for system in found)]
    named = [kind for kind in kinds if kind != Kind.FREE.value] or ["known without it"]
    shape = "elementwise" if all(system.is_elementwise for system in found) else "dense"
    count = sum(len(system.carries) for system in found)
    carries = "one carry" if count == 1 else f"{count} carries"
    return f"a recurrence, {' and '.join(named)} ({shape}), of {carries}"
