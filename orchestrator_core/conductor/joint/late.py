"""Computing again what was not kept, when it is needed and not before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.substitute import reading
from orchestrator_core.conductor.ir.value import Value


def just_in_time(
    again: Sequence[Node], behind: Sequence[Node], held: Collection[Value], late: Collection[Value]
) -> Iterator[Node]:
    """The nodes of a backward part, those that compute again right before who first needs them.

    They stand behind barriers that wait for what comes in backwards, as JAX lowers ``checkpoint``:
    else XLA would see that it has computed the same before, and keep it all the time.

    Args:
        again: what is computed again. behind: the rest. held: what is there without computing.
        late: values that depend on cotangents.
    """
    maker = {node.outputs[0]: node for node in again}
    done: set[Node] = set()
    for reader in behind:
        first = [node for node in _needed(reader, maker) if node not in done]
        waits = min((v for v in _values(reader) if v in late), key=lambda value: value.nbytes)
        if first:
            done.update(first)
            yield from _barred(first, held, waits)
        yield reader


def _needed(reader: Node, maker: Mapping[Value, Node]) -> list[Node]:
    """Producers first."""
    found: dict[Node, None] = {}
    stack = [(reader, False)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            found[node] = None
            continue
        if node in found:
            continue
        if node is not reader:
            stack.append((node, True))
        stack += [(maker[value], False) for value in _values(node) if value in maker]
    return list(found)


def _barred(nodes: Sequence[Node], held: Collection[Value], waits: Value) -> list[Node]:
    read = dict.fromkeys(value for node in nodes for value in _values(node) if value in held)
    if not read:
        return list(nodes)
    made = [Value(value.aval) for value in (*read, waits)]
    barrier = of_primitive(_jax.optimization_barrier_p, (*read, waits), made, {})
    behind = dict(zip(read, made, strict=False))
    return [barrier, *(reading(node, behind) for node in nodes)]


def _values(node: Node) -> list[Value]:
    return [each for each in node.inputs if isinstance(each, Value)]
