"""Are settings what they may be, and is there something that only looks like one?"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence

from orchestrator_core.cli.health.check import Check, bad, warning

NAME = "environment"
PREFIX = "ORCHESTRATOR_"
OTHERS = ("ORCHESTRATOR_CALIBRATE", "ORCHESTRATOR_JAX_PREALLOCATE")
"""Variables that are no settings of a flow, a cluster or a machine."""

OTHERS_IN_DASK = ("worker.device-memory",)
"""What Dask's configuration says of a worker beside its settings."""

PYPROJECT = "pyproject.toml [tool.orchestrator]"

FOR_TESTS = "ORCHESTRATOR_TEST_"


def check_variables(variables: Mapping[str, str] | None = None) -> list[Check]:
    """A warning for each variable of this process, or of these, that means nothing."""
    from orchestrator_core.settings.known import SETTINGS

    meant = {f"{PREFIX}{name.upper()}": each.variable for name, each in SETTINGS.items()}
    known = {*meant.values(), *OTHERS}
    given = sorted(os.environ if variables is None else variables)
    ours = [each for each in given if each.startswith(PREFIX) and not each.startswith(FOR_TESTS)]
    return [_unknown(each, meant, known) for each in ours if each not in known]


def check_names() -> list[Check]:
    """The same for names in the nearest ``pyproject.toml`` and in Dask's configuration; and whether
    that file can be read."""
    from orchestrator_core.settings import SETTINGS, dask_config, pyproject

    names, trouble = pyproject.stated()
    found = [bad("settings", trouble, "mend the file; Prefect may not start until then")]
    in_file = [n for n, each in SETTINGS.items() if "pyproject" in each.levels]
    in_dask = [dask_config.key(each) for each in SETTINGS.values() if "Dask" in each.levels]
    written = {name.replace("-", "_"): f"{PYPROJECT} {name}" for name in names}
    configured = {name: f"Dask: orchestrator.{name}" for name in dask_config.stated()}
    return [
        *(found if trouble else ()),
        *_misspelt(written, in_file),
        *_misspelt(configured, [*in_dask, *OTHERS_IN_DASK]),
    ]


def _misspelt(written: Mapping[str, str], known: Sequence[str]) -> Iterator[Check]:
    """Of names, and how they are shown, those that are not known."""
    for name, said in written.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            yield warning("settings", f"{said} is no setting there: nobody reads it", _mend(near))


def check_values() -> list[Check]:
    """A warning for each value of a setting that is passed over, for it makes no sense."""
    from orchestrator_core.settings import SETTINGS, find
    from orchestrator_core.settings.dask_config import dask_config
    from orchestrator_core.settings.environment import environment
    from orchestrator_core.settings.pyproject import pyproject

    wrong: list[str] = []
    sources = (environment(), dask_config(), pyproject())
    for setting in SETTINGS.values():
        find(setting, sources, lambda error: wrong.append(str(error)))
    mend = "it is passed over; `orchestrator config --show-origin` shows what holds instead"
    return [warning("settings", each, mend) for each in wrong]


def _unknown(name: str, meant: Mapping[str, str], known: set[str]) -> Check:
    near = [meant[name]] if name in meant else difflib.get_close_matches(name, sorted(known), 1)
    return warning(NAME, f"{name} is no setting: nobody reads it", _mend(near))


def _mend(near: Sequence[str]) -> str:
    did_you_mean = f"did you mean {near[0]}? " if near else ""
    return f"{did_you_mean}`orchestrator config` lists what can be set"
