"""Reports: what was promised, what happened, and where the time went.

`render` makes one self-contained HTML page of a run: no network, no other file.
"""

from __future__ import annotations

from orchestrator_core.report.page import render, write

__all__ = ["render", "write"]
