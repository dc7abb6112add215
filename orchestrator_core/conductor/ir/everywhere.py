"""Arrays whose elements are all one number that the program says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

SPREADING = frozenset({"broadcast_in_dim", "expand_dims", "reshape", "squeeze", "transpose"})

CONVERTING = "convert_element_type"


def everywhere(atom: Atom, producer: Mapping[Value, Node]) -> Any:
    """The number that all elements are; None if it is not known that they are one."""
    types = []
    while isinstance(atom, Value):
        made_by = producer.get(atom)
        if made_by is None or made_by.name not in (*SPREADING, CONVERTING):
            return None
        if made_by.name == CONVERTING:
            types.append(atom.dtype)
        atom = made_by.inputs[0]
    number = atom.value if np.ndim(atom.value) == 0 else None
    for dtype in reversed(types):
        number = _converted(number, dtype)
    return number


def _converted(number: Any, dtype: Any) -> Any:
    """None if it is another number then."""
    if number is None:
        return None
    with np.errstate(all="ignore"):
        made = np.asarray(number).astype(dtype)[()]
    return made if made == number else None
