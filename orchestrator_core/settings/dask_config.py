"""What Dask's configuration says under ``orchestrator``: in its files, by `dask.config.set`, or in
variables such as ``DASK_ORCHESTRATOR__OBJECTIVE``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator_core.errors import InvalidInput
from orchestrator_core.settings.setting import Setting
from orchestrator_core.settings.source import Source, Stated


def dask_config() -> Source:
    """Dask's configuration as it is when it is asked.

    Our defaults stand there too, so that people can see them: a value equal to the default says
    nothing, and whoever comes later in the order is asked.
    """
    import dask.config

    def look(setting: Setting) -> Stated | None:
        name = f"orchestrator.{key(setting)}"
        value = dask.config.get(name, default=None)
        if value is None or _is_default(setting, value):
            return None
        return Stated(value, name)

    return Source("Dask", look)


def stated() -> list[str]:
    """The names under ``orchestrator`` in Dask's configuration, whatever they mean."""
    import dask.config

    section = dask.config.get("orchestrator", default=None)
    return [] if not isinstance(section, Mapping) else list(_leaves(section))


def _leaves(section: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}".replace("_", "-")


def processors() -> int:
    """How many Dask counts on this machine, and shares out to the workers that it starts here."""
    from dask.system import CPU_COUNT

    return CPU_COUNT or 1


def key(setting: Setting) -> str:
    """The setting's name there: ``min-tasks``; what a worker says about itself stands in a section
    of its own."""
    if setting.name.startswith("worker_"):
        return setting.name.replace("_", ".", 1)
    return setting.name.replace("_", "-")


def _is_default(setting: Setting, value: Any) -> bool:
    try:
        return bool(setting.read(value) == setting.default)
    except InvalidInput:
        return False
