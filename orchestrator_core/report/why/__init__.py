"""Why a task of a run was where it was, when it was, and what another place would have cost."""

from __future__ import annotations

from orchestrator_core.report.why.answer import Why, why

__all__ = ["Why", "why"]
