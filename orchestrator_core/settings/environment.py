"""What the environment says: ``ORCHESTRATOR_...``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from orchestrator_core.settings.setting import Setting
from orchestrator_core.settings.source import Source, Stated


def environment(variables: Mapping[str, str] | None = None) -> Source:
    """The variables of this process, or these; an empty one says nothing."""
    known = os.environ if variables is None else variables

    def look(setting: Setting) -> Stated | None:
        value = known.get(setting.variable, "").strip()
        return Stated(value, setting.variable) if value else None

    return Source("environment", look)
