"""What if there were other workers, more memory, faster tasks? A run planned anew, with a bound."""

from __future__ import annotations

from orchestrator_core.report.whatif.answer import WhatIf, what_if
from orchestrator_core.report.whatif.change import Change

__all__ = ["Change", "WhatIf", "what_if"]
