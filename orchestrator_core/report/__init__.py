"""Reports: what was promised, what happened, and where the time went.

`render` makes one self-contained HTML page of a run: no network, no other file. Beside it, each in
a package of its own, the answers to questions about a run, as plain data: `trace`, `why`, `whatif`,
`diff`. What makes pages is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator_core.report.page import render, write

__all__ = ["render", "write"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from orchestrator_core.report import page

    return getattr(page, name)
