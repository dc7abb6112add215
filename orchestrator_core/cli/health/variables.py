"""Are settings what they may be, and is there something that only looks like one?"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping

from orchestrator_core.cli.health.check import Check, warning

NAME = "environment"
PREFIX = "ORCHESTRATOR_"
OTHERS = ("ORCHESTRATOR_CALIBRATE", "ORCHESTRATOR_JAX_PREALLOCATE")
"""Variables that are no settings of a flow, a cluster or a machine."""

FOR_TESTS = "ORCHESTRATOR_TEST_"


def check_variables(variables: Mapping[str, str] | None = None) -> list[Check]:
    """A warning for each variable of this process, or of these, that means nothing."""
    from orchestrator_core.settings.known import SETTINGS

    meant = {f"{PREFIX}{name.upper()}": each.variable for name, each in SETTINGS.items()}
    known = {*meant.values(), *OTHERS}
    given = sorted(os.environ if variables is None else variables)
    ours = [each for each in given if each.startswith(PREFIX) and not each.startswith(FOR_TESTS)]
    return [_unknown(each, meant, known) for each in ours if each not in known]


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
    did_you_mean = f"did you mean {near[0]}? " if near else ""
    mend = f"{did_you_mean}`orchestrator config` lists what can be set"
    return warning(NAME, f"{name} is no setting: nobody reads it", mend)
