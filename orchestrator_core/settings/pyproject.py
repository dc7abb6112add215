"""What ``[tool.orchestrator]`` says in the nearest ``pyproject.toml``, from the folder upwards."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from orchestrator_core.settings.setting import Setting
from orchestrator_core.settings.source import Source, Stated

log = logging.getLogger("orchestrator")

FILE = "pyproject.toml"


def pyproject(folder: Path | None = None) -> Source:
    """What stands there; names are written with ``-`` or ``_``. A file that nobody can read says
    nothing, and that is logged."""
    file = nearest(folder)
    table, _ = _current(file)

    def look(setting: Setting) -> Stated | None:
        for name in (setting.name, setting.name.replace("_", "-")):
            value = table.get(name)
            if value is not None and file is not None:
                value = _from(file.parent, value) if setting.is_path else value
                return Stated(value, f"{FILE} [tool.orchestrator] {name}")
        return None

    return Source("pyproject", look)


def _from(folder: Path, value: Any) -> Any:
    """A path counts from the folder of the file; a URL stays what it is."""
    if not isinstance(value, str) or not value.strip() or "://" in value:
        return value
    return str(folder / Path(value.strip()).expanduser())


def nearest(folder: Path | None = None) -> Path | None:
    """The file that counts in this folder, by default the current one; None if there is none."""
    try:
        start = Path.cwd() if folder is None else folder.absolute()
        return next((f for p in (start, *start.parents) if (f := p / FILE).is_file()), None)
    except OSError:  # the folder was removed, or may not be looked into
        return None


def stated(folder: Path | None = None) -> tuple[list[str], str]:
    """The names under ``[tool.orchestrator]`` in the file that counts, whatever they mean; and why
    none can be read, empty where that is well."""
    table, trouble = _current(nearest(folder))
    return list(table), trouble


def _current(file: Path | None) -> tuple[Mapping[str, Any], str]:
    try:
        return ({}, "") if file is None else _table(file, file.stat().st_mtime_ns)
    except OSError:  # it has just been removed
        return {}, ""


@lru_cache(maxsize=8)
def _table(file: Path, changed: int) -> tuple[Mapping[str, Any], str]:
    """The table in the file as it was `changed` last (nanoseconds), and what is wrong with it."""
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return {}, _told(f"{file} cannot be read, so no setting is taken from it: {error}")
    tools = tables.get("tool")
    found = tools.get("orchestrator", {}) if isinstance(tools, dict) else {}
    if isinstance(found, dict):
        return found, ""
    return {}, _told(f"tool.orchestrator in {file} is no table, so no setting is taken from it")


def _told(trouble: str) -> str:
    log.warning("%s", trouble)
    return trouble
