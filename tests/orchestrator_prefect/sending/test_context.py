"""Settings are serialised once for many submissions, and mean the same on the worker."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest
from prefect.context import SettingsContext, hydrated_context, serialize_context
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_LEVEL, temporary_settings

from orchestrator_prefect.sending.context import SerializedOnce


@pytest.fixture
def serializations(monkeypatch: pytest.MonkeyPatch) -> list[SettingsContext]:
    """The settings that were serialised in earnest."""
    seen: list[SettingsContext] = []
    original = SettingsContext.serialize

    def counted(self: SettingsContext, include_secrets: bool = True) -> dict[str, Any]:
        seen.append(self)
        return original(self, include_secrets=include_secrets)

    monkeypatch.setattr(SettingsContext, "serialize", counted)
    return seen


def arrived() -> dict[str, Any]:
    """The present context, as it arrives on a worker."""
    context: dict[str, Any] = pickle.loads(cloudpickle.dumps(serialize_context()))
    return context


def test_many_submissions_serialise_the_settings_once(
    serializations: list[SettingsContext],
) -> None:
    once = SerializedOnce()
    for _ in range(5):
        with once.reused():
            serialize_context()
    assert len(serializations) == 1


def test_the_context_is_the_one_that_prefect_sends() -> None:
    with SerializedOnce().reused():
        ours = arrived()
    assert ours == serialize_context()


def test_what_arrives_is_plain_and_needs_nothing_of_this_project() -> None:
    with SerializedOnce().reused():
        sent = cloudpickle.dumps(serialize_context())
    assert b"orchestrator" not in sent
    assert type(pickle.loads(sent)["settings_context"]) is dict


def test_a_worker_lives_under_the_same_settings() -> None:
    changed = temporary_settings(
        {PREFECT_LOGGING_LEVEL: "CRITICAL", PREFECT_API_URL: "http://x/api"}
    )
    with changed, SerializedOnce().reused():
        sent = cloudpickle.dumps(serialize_context())
    with hydrated_context(pickle.loads(sent)):
        assert PREFECT_LOGGING_LEVEL.value() == "CRITICAL"


def test_other_settings_are_noticed() -> None:
    once = SerializedOnce()
    for level in ("ERROR", "CRITICAL"):
        with temporary_settings({PREFECT_LOGGING_LEVEL: level}), once.reused():
            context = arrived()["settings_context"]
        assert context["settings"]["logging"]["level"] == level


def test_settings_read_in_between_are_the_same_object() -> None:
    before = SettingsContext.get()
    with SerializedOnce().reused():
        inside = SettingsContext.get()
        assert before is not None
        assert inside is not None
        assert inside.settings is before.settings
    assert SettingsContext.get() is before


def test_a_prefect_that_works_in_another_way_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, serializations: list[SettingsContext]
) -> None:
    monkeypatch.setattr(SettingsContext, "model_construct", None)
    once = SerializedOnce()
    for _ in range(3):
        with once.reused():
            assert serialize_context()["settings_context"]
    assert len(serializations) == 3
