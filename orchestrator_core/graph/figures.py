"""Numbers as users hand them in, one by one or by the column; what is none is named."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.text import shown

Label = Callable[[int], str]
"""What a message calls the entry of a column, such as ``task 'a'``."""

EXAMPLES = {
    **{what: f"{what}=120 (seconds)" for what in ("seconds", "release", "due", "deadline")},
    **{what: f"{what}=2e9 (bytes)" for what in ("memory", "output_bytes", "nbytes")},
}
"""How each of these is given, for whom a unit was text."""


MAY_BE_UNKNOWN = ("seconds", "nbytes")
"""Here None says that nobody knows, and stands as NaN."""


def as_float(value: object) -> float:
    """The number as a float; NaN for what is no number, and for what no float can hold."""
    if not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        return np.nan


def floats(column: ArrayLike, length: int, what: str, label: Label) -> NDArray[np.float64]:
    """(length,) of a column or of one number for all.

    Raises:
        InvalidGraph: for another length, or naming the first entry that is no number.
    """
    values = _array(column)
    if values is None or values.dtype.kind not in "fiub":
        values = _one_by_one(column, what, label)
    if values.shape not in ((), (length,)):
        raise InvalidGraph(f"{what} has shape {values.shape}; expected a number or ({length},)")
    return np.array(np.broadcast_to(values, (length,)), dtype=np.float64)


def integers(column: ArrayLike, length: int, what: str, label: Label) -> NDArray[np.int64]:
    """As `floats`, of whole numbers."""
    values = floats(column, length, what, label)
    wrong = ~(np.abs(values) < 2.0**53) | (values != np.floor(values))
    if wrong.any():
        at = int(np.argmax(wrong))
        found = f"{label(at)} has {what} = {float(values[at])!r}"
        raise InvalidGraph(f"{found}; it must be a whole number, such as {what}=1")
    return values.astype(np.int64)


def _array(column: ArrayLike) -> NDArray[Any] | None:
    """None for rows of different lengths."""
    try:
        return np.asarray(column)
    except (ValueError, TypeError):
        return None


def _one_by_one(column: Any, what: str, label: Label) -> NDArray[np.float64]:
    """What NumPy does not take for a column of numbers at once. Text is refused even where it
    spells a number, as its unit would be a guess."""
    alone = isinstance(column, (str, bytes)) or not hasattr(column, "__len__")
    entries = [column] if alone else list(column)
    values = [_entry(entry, at, what, label) for at, entry in enumerate(entries)]
    return np.array(values[0] if alone else values, dtype=np.float64)


def _entry(entry: Any, at: int, what: str, label: Label) -> float:
    try:
        if entry is None and what in MAY_BE_UNKNOWN:
            return np.nan
        if not isinstance(entry, (str, bytes)):
            return float(entry)
        problem = "it must be a number, not text"
    except OverflowError:
        raise InvalidGraph(f"{label(at)} has {what} of more than 1e308; {_mend(what)}") from None
    except (ValueError, TypeError):
        problem = f"it must be a number, not a {type(entry).__name__}"
    raise InvalidGraph(f"{label(at)} has {what} = {shown(entry)}; {problem}; {_mend(what)}")


def _mend(what: str) -> str:
    return f"give {EXAMPLES.get(what, f'{what}=1')}"
