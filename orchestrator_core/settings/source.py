"""Source: one place in which settings may stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator_core.settings.setting import Level, Setting


@dataclass(frozen=True, slots=True)
class Stated:
    """What a source says. `where` names the place, for people; the value may be wrong."""

    value: Any
    where: str


@dataclass(frozen=True, slots=True)
class Source:
    """A place in which settings may stand; `look` answers None for what is not there."""

    level: Level
    look: Callable[[Setting], Stated | None]


def mapping(level: Level, values: Mapping[str, Any], where: str) -> Source:
    """What these values say, by name; None says nothing. `where` holds ``{}`` for the name."""

    def look(setting: Setting) -> Stated | None:
        value = values.get(setting.name)
        return None if value is None else Stated(value, where.replace("{}", setting.name))

    return Source(level, look)
