"""A worker makes Prefect's settings and trusted certificates once; what changes is made anew."""

from __future__ import annotations

import os
import pickle
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import certifi
import cloudpickle
import pytest
from prefect.client import orchestration
from prefect.client.orchestration import SyncPrefectClient
from prefect.context import SettingsContext, hydrated_context, serialize_context
from prefect.settings import (
    PREFECT_API_KEY,
    PREFECT_API_SSL_CERT_FILE,
    PREFECT_API_URL,
    PREFECT_LOGGING_LEVEL,
    PREFECT_TASKS_DEFAULT_RETRIES,
    Settings,
    temporary_settings,
)

from orchestrator_prefect.sending.made_once import remember_certificates, remember_settings
from orchestrator_prefect.sending.worker_side import measure_states


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a worker that has met one of Prefect's objects, until the test is over."""
    monkeypatch.setattr(SettingsContext, "__init__", _plain(SettingsContext.__init__))
    monkeypatch.setattr(orchestration, "ssl", ssl)
    remember_settings()()
    remember_certificates()()
    # A server is named, or Prefect would start one.
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        yield


def _plain(make: Any) -> Any:
    """Without what an earlier test may have put on it."""

    def init(self: Any, **sent: Any) -> None:
        super(SettingsContext, self).__init__(**sent)

    return init if hasattr(make, "known") else make


def sent() -> dict[str, Any]:
    """What the settings of now are for a worker, after their journey."""
    arrived: dict[str, Any] = pickle.loads(pickle.dumps(serialize_context()))
    return arrived


def settings_of(context: dict[str, Any]) -> Settings:
    with hydrated_context(context):
        current = SettingsContext.get()
        assert current is not None
        return current.settings


@pytest.mark.usefixtures("remembering")
def test_equal_settings_are_one_object() -> None:
    with temporary_settings({PREFECT_LOGGING_LEVEL: "CRITICAL"}):
        first, second = settings_of(sent()), settings_of(sent())
    assert first is second
    assert first.logging.level == "CRITICAL"


@pytest.mark.usefixtures("remembering")
def test_they_are_what_prefect_would_have_made() -> None:
    with temporary_settings({PREFECT_TASKS_DEFAULT_RETRIES: 3, PREFECT_API_KEY: "secret"}):
        arrived = sent()
    made = settings_of(arrived)
    stock = Settings(**arrived["settings_context"]["settings"])
    assert made == stock
    assert made.api.key is not None
    assert made.api.key.get_secret_value() == "secret"


@pytest.mark.usefixtures("remembering")
def test_secrets_that_differ_are_other_settings() -> None:
    """Printed they look the same."""
    seen = set()
    for key in ("one", "two"):
        with temporary_settings({PREFECT_API_KEY: key}):
            made = settings_of(sent())
        assert made.api.key is not None
        seen.add(made.api.key.get_secret_value())
    assert seen == {"one", "two"}


@pytest.mark.usefixtures("remembering")
def test_a_worker_s_own_environment_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the flow does not set, the worker's environment does."""
    arrived = sent()
    before = settings_of(arrived)
    monkeypatch.setenv("PREFECT_TASKS_DEFAULT_RETRY_DELAY_SECONDS", "7")
    assert settings_of(arrived).tasks.default_retry_delay_seconds == 7
    monkeypatch.delenv("PREFECT_TASKS_DEFAULT_RETRY_DELAY_SECONDS")
    assert settings_of(arrived) is before


@pytest.mark.usefixtures("remembering")
def test_another_folder_may_have_another_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arrived = sent()
    assert settings_of(arrived).tasks.default_retry_delay_seconds == 0
    (tmp_path / "prefect.toml").write_text("[tasks]\ndefault_retry_delay_seconds = 5\n")
    monkeypatch.chdir(tmp_path)
    assert settings_of(arrived).tasks.default_retry_delay_seconds == 5


@pytest.mark.usefixtures("remembering")
def test_not_more_than_some_are_remembered() -> None:
    for retries in range(20):
        with temporary_settings({PREFECT_TASKS_DEFAULT_RETRIES: retries}):
            assert settings_of(sent()).tasks.default_retries == retries
    known: Any = SettingsContext.__init__
    assert len(known.known) <= 8


@pytest.mark.usefixtures("remembering")
def test_to_remember_twice_changes_nothing() -> None:
    make: Any = SettingsContext.__init__
    module = orchestration.ssl  # type: ignore[attr-defined]
    remember_settings()()
    remember_certificates()()
    assert SettingsContext.__init__ is make
    assert orchestration.ssl is module  # type: ignore[attr-defined]


def context_of(api: str = "http://127.0.0.1:1/api") -> ssl.SSLContext:
    """That of a new client."""
    with_client = SyncPrefectClient(api)
    pool: Any = with_client._client._transport
    found: ssl.SSLContext = pool._pool._ssl_context
    return found


@pytest.mark.usefixtures("remembering")
def test_certificates_are_read_when_their_file_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "trusted.pem"
    shutil.copy(certifi.where(), file)
    with temporary_settings({PREFECT_API_SSL_CERT_FILE: str(file)}):
        first, second = context_of(), context_of()
        assert first is second
        assert first.verify_mode is ssl.CERT_REQUIRED
        file.write_text(file.read_text().partition("\n\n#")[0])
        third = context_of()
    assert len(third.get_ca_certs()) < len(first.get_ca_certs())


@pytest.mark.usefixtures("remembering")
def test_who_trusts_everybody_stays_alone() -> None:
    """Prefect changes such a context after it has made it."""
    made = orchestration.ssl.create_default_context()  # type: ignore[attr-defined]
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    assert context_of().verify_mode is ssl.CERT_REQUIRED


WITHOUT_PROJECT = """
import pickle, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("orchestrator"):
            raise ImportError(name)

sys.meta_path.insert(0, Nothing())
setup = pickle.loads(sys.stdin.buffer.read())
import prefect.results, prefect.client.orchestration as client, dask.sizeof
setup(None)
from prefect.context import SettingsContext
assert hasattr(SettingsContext.__init__, "known") and hasattr(client.ssl, "known")
"""


def test_workers_need_nothing_of_this_project(tmp_path: Path) -> None:
    setup = cloudpickle.dumps(measure_states(remember_settings(), remember_certificates()))
    program = [sys.executable, "-c", WITHOUT_PROJECT]
    environment = {**os.environ, "PREFECT_HOME": str(tmp_path)}
    done = subprocess.run(program, input=setup, capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
