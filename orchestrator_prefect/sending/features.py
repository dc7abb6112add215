"""Features: how large the arguments of a task, and of its flow, are.

Of numbers their size, of collections their length, to two digits; never what is in them, and of
text nothing at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

MOST = 16
"""Arguments that are looked at."""

LONGEST = 60
"""Letters of a name, of which a longer one is no feature."""

FLOW = " (flow"
"""What the names of those have in them that are parameters of the flow; then comes the flow's, for
an `n` of one flow says nothing of another's, although tasks of both be the same."""

COLLECTIONS = (list, tuple, dict, set, frozenset, range, bytes, bytearray)


def features_of(arguments: Mapping[str, Any]) -> dict[str, float]:
    """The features of a task that is given these arguments, by their names."""
    found: dict[str, float] = {}
    for name, value in arguments.items():
        size = _size(value)
        if size is not None and len(found) < MOST and len(name) <= LONGEST:
            found[name] = size
    return found


def features_of_flow(flow: Any, parameters: Mapping[str, Any]) -> dict[str, float]:
    """Those that all tasks of a flow with these parameters have; named apart from their own, and by
    its function, for that stays where a flow is renamed."""
    function = getattr(getattr(flow, "fn", None), "__name__", "")
    end = f"{FLOW} {function[:LONGEST]})"
    return {f"{name}{end}": size for name, size in features_of(parameters).items()}


def flow_features(sets: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of the features of a run's tasks, those that are the flow's."""
    return {name: size for each in sets for name, size in each.items() if FLOW in name}


def features_now(then: Mapping[str, float], flow: Mapping[str, float]) -> Mapping[str, float]:
    """The features of a task of an earlier run, in one whose parameters are as large as `flow`
    says: what was a parameter of the flow, handed on, is one again."""
    if not flow:
        return then
    handed = {(name.partition(FLOW)[0], then.get(name)): size for name, size in flow.items()}
    own = {name: size for name, size in then.items() if FLOW not in name}
    return {name: handed.get((name, size), size) for name, size in own.items()} | dict(flow)


def _size(value: Any) -> float | None:
    """To two digits; None for what has none, for 0, of which there is no power, and for what is
    below: -1 means "all", "the last", "not yet", and is not as large as 1."""
    try:
        size = _exact(value)
        if size is None or not math.isfinite(size) or size <= 0:
            return None
        return float(f"{size:.1e}")
    except Exception:  # whatever another library's numbers and arrays raise
        return None


def _exact(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, COLLECTIONS):
        return float(len(value))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(type(each) is int for each in shape):
        return float(math.prod(shape))
    return None
