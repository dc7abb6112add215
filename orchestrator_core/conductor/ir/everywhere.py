"""Arrays whose elements are all one number that the program says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

SPREADING = frozenset({"broadcast_in_dim", "expand_dims", "reshape", "squeeze", "transpose"})


def everywhere(atom: Atom, producer: Mapping[Value, Node]) -> Any:
    """The number that all elements are; None if it is not known that they are one."""
    while isinstance(atom, Value):
        made_by = producer.get(atom)
        if made_by is None or made_by.name not in SPREADING:
            return None
        atom = made_by.inputs[0]
    return atom.value if np.ndim(atom.value) == 0 else None
