"""Workers that were started for a run are ready for Prefect before its first task."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
from prefect.context import SettingsContext
from prefect.settings import PREFECT_API_URL, temporary_settings

from orchestrator_prefect.sending.made_once import remember_certificates, remember_settings
from orchestrator_prefect.sending.warm_up import _tell, warming

WITHOUT_PROJECT = """
import pickle, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("orchestrator"):
            raise ImportError(name)

sys.meta_path.insert(0, Nothing())
settings, warm = pickle.loads(sys.stdin.buffer.read())
assert "prefect" not in sys.modules, "nothing of it is needed before"
warm()
import prefect.client.orchestration as client
from prefect.context import SettingsContext
assert len(SettingsContext.__init__.known) == len(client.ssl.known) == 1
(made,) = SettingsContext.__init__.known.values()
assert SettingsContext(**pickle.loads(settings)).settings is made, "what the first task asks for"
"""


def test_what_the_first_task_asks_for_is_there(tmp_path: Path) -> None:
    """In a process that has nothing of this project."""
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        context = SettingsContext.get()
        assert context is not None
        settings = pickle.dumps(context.serialize())
    warm = warming(settings, remember_settings(), remember_certificates())
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PROJECT],
        input=cloudpickle.dumps((settings, warm)),
        capture_output=True,
        env={**os.environ, "PREFECT_HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_step_that_fails_spoils_nothing() -> None:
    """A Prefect that works in another way."""
    done = []

    def fails() -> None:
        raise AttributeError("ssl")

    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        context = SettingsContext.get()
        assert context is not None
        warming(pickle.dumps(context.serialize()), fails, lambda: done.append(1))()
    assert done == [1]


class Gone:
    """A cluster that has left, and when it was asked."""

    def run(self, function: Any, **options: Any) -> None:
        raise OSError("the scheduler is gone")


def test_a_cluster_that_is_gone_costs_nothing() -> None:
    _tell(Gone(), b"", ())
