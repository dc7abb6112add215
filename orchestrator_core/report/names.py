"""Names that are near to one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

MOST_COMPARED = 3_000
"""Names that are compared letter by letter; of more, those that hold the text come first."""


def near(text: str, known: Sequence[str], most: int = 3) -> list[str]:
    """Names that hold the text, whatever its case, then those that are spelled like it."""
    wanted = text.casefold()
    holding = [name for name in known if wanted and wanted in name.casefold()][:most]
    if len(holding) < most:
        spelled = difflib.get_close_matches(text, known[:MOST_COMPARED], n=most, cutoff=0.5)
        holding += [name for name in spelled if name not in holding]
    return holding[:most]


def find(text: str, known: Sequence[str]) -> str | None:
    """The name itself; else the only one that begins so; else None."""
    if text in known:
        return text
    begins = [name for name in known if text and name.startswith(text)]
    return begins[0] if len(begins) == 1 else None
