"""Found: the value of a setting, and who said so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator_core.errors import InvalidInput
from orchestrator_core.settings.setting import Level, Setting, checked
from orchestrator_core.settings.source import Source, Stated

log = logging.getLogger("orchestrator")

_told: set[str] = set()


@dataclass(frozen=True, slots=True)
class Found:
    """A setting's value; `where` names the place for people, "" for the default."""

    setting: Setting
    value: Any
    level: Level
    where: str = ""


def refused(error: InvalidInput) -> None:
    """What becomes of a value that is wrong: one line in the log of this process."""
    line = str(error)
    if line not in _told:
        _told.add(line)
        log.warning("%s; it is passed over", line)


def find(
    setting: Setting,
    sources: Sequence[Source],
    refuse: Callable[[InvalidInput], None] = refused,
) -> Found:
    """What the first of the sources says that says something; they are asked in this order.

    Args:
        refuse: told of each wrong value, before the next source is asked.
    """
    for source in _in_order(setting, sources):
        if source.level not in setting.levels:
            continue
        stated = _look(source, setting)
        if stated is None:
            continue
        try:
            value = checked(setting, stated.value, stated.where)
        except InvalidInput as error:
            refuse(error)
            continue
        return Found(setting, value, source.level, stated.where)
    return Found(setting, setting.default, "default")


def _look(source: Source, setting: Setting) -> Stated | None:
    try:
        return source.look(setting)
    except Exception:
        # Such as a configuration that is no mapping; what is said elsewhere still counts.
        log.warning("%s cannot be asked for %s", source.level, setting.name, exc_info=True)
        return None


def _in_order(setting: Setting, sources: Sequence[Source]) -> Sequence[Source]:
    if not setting.is_switch:
        return sources
    return sorted(sources, key=lambda source: source.level != "environment")
