"""What changed from one run to another."""

from __future__ import annotations

from orchestrator_core.report.diff.answer import Diff, diff

__all__ = ["Diff", "diff"]
