"""Stand-ins for what is known only when tasks have run: results and states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator_prefect.tracing.watch import refuse

_NEEDS = {
    "is looked at as true or false": "bool",
    "is counted": "len length_hint",
    "is looped over or unpacked": "iter next reversed aiter anext",
    "is taken for a number": "int float complex index round trunc floor ceil",
    "is made into text": "str format bytes",
    "is compared": "eq ne lt le gt ge hash",
    "is searched": "contains",
    "is indexed": "getitem setitem delitem",
    "is changed": "setattr delattr",
    "is called": "call",
    "is entered": "enter exit aenter aexit",
    "is awaited": "await",
    "is computed with": "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor "
    "or radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor ror "
    "iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ixor ior neg pos abs "
    "invert",
}


class StandIn:
    """Something that no code can look at before the task has run.

    Attributes:
        _what: what it is, for messages: "the result of task 'load'".
        _names: of the submissions that it comes from, if any.
    """

    __slots__ = ("_names", "_what")

    def __init__(self, what: str, names: tuple[str, ...] = ()) -> None:
        object.__setattr__(self, "_what", what)
        object.__setattr__(self, "_names", names)

    def __getattr__(self, name: str) -> Any:
        # Whoever looks for a protocol may be told that it is not there.
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"{self._what} is asked for its {name!r}, which only a run can tell")

    def __repr__(self) -> str:
        return f"<{self._what}>"


class StandInState(StandIn):
    """The state in which a task will end."""

    __slots__ = ()

    def result(self, *args: Any, **kwargs: Any) -> StandIn:
        """What the task will return, whatever is asked for in case that it fails."""
        return StandIn(self._what.replace("the state", "the result", 1), self._names)


def _refusing(needed: str) -> Callable[..., Any]:
    def look(self: StandIn, *args: Any) -> Any:
        refuse(f"{self._what} {needed}, which only a run can tell")

    return look


for _needed, _names in _NEEDS.items():
    for _name in _names.split():
        setattr(StandIn, f"__{_name}__", _refusing(_needed))


def find_stand_in(value: object, depth: int = 2) -> StandIn | None:
    """The first stand-in in a value or, so deep, in what it holds."""
    if isinstance(value, StandIn):
        return value
    if depth and isinstance(value, (list, tuple, set, frozenset, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            found = find_stand_in(each, depth - 1)
            if found is not None:
                return found
    return None
