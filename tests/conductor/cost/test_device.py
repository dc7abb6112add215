"""Devices are known, stored, and fallen back to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from orchestrator_core.conductor.cost import (
    Device,
    calibrate,
    device_store,
    this_device,
)
from orchestrator_core.conductor.cost.known_devices import known_device


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path))
    monkeypatch.delenv("ORCHESTRATOR_CALIBRATE", raising=False)
    calibrate.forget()
    yield tmp_path
    calibrate.forget()


def test_a_published_device_is_known_by_a_word_of_its_name() -> None:
    device = known_device("NVIDIA H100 80GB HBM3", "gpu")
    assert (device.kind, device.origin) == ("NVIDIA H100 80GB HBM3", "published")
    assert device.bandwidth == 3.35e12
    assert known_device("NVIDIA A100-SXM4-80GB", "gpu").dot_rate("bfloat16") == 312e12


@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
def test_any_other_device_is_assumed(platform: str) -> None:
    device = known_device("nobody knows it", platform)
    assert (device.platform, device.origin) == (platform, "assumed")
    assert device.dot_rate("float32") > 0


def test_a_type_without_a_rate_has_that_of_its_size() -> None:
    device = known_device("NVIDIA H200", "gpu")
    assert device.dot_rate("int8") == 4 * device.dot_rate("float32")
    assert device.dot_rate(None) == device.dot_rate("float32")


def test_a_stored_device_comes_back(cache: Path) -> None:
    device = known_device("NVIDIA H200", "gpu")
    assert device_store.stored(device.kind) is None
    device_store.store(device)
    assert device_store.stored(device.kind) == device
    assert list(cache.rglob("*.json"))


def test_a_measured_cpu_is_known_with_as_many_cores_of_the_same_processor(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAX calls all processors ``cpu``: others may share the home, as may a container with some of
    the cores, whose rates are some of the rates."""
    device = known_device("cpu", "cpu")
    device_store.store(device)
    with monkeypatch.context() as patched:
        patched.setattr(device_store, "usable_cores", lambda: device.cores + 1)
        assert device_store.stored("cpu") is None
    with monkeypatch.context() as patched:
        patched.setattr(device_store, "processor", lambda: "another one")
        assert device_store.stored("cpu") is None
    assert device_store.stored("cpu") == device


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": 1}'])
def test_a_broken_file_is_as_good_as_none(cache: Path, text: str) -> None:
    device = known_device("NVIDIA H200", "gpu")
    device_store.store(device)
    (file,) = cache.rglob("*.json")
    file.write_text(text)
    assert device_store.stored(device.kind) is None


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(file))
    device_store.store(known_device("cpu", "cpu"))
    assert device_store.stored("cpu") is None


def test_a_device_is_measured_once_and_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "RUN_S", 0.0)
    found: list[Device] = []

    def while_traced(x: jax.Array) -> jax.Array:
        found.append(calibrate.calibrate())
        return x

    jax.make_jaxpr(while_traced)(1.0)
    assert found[0].origin == "measured"
    assert all(rate > 0 for _, rate in found[0].dot_rates)
    assert this_device() == found[0]

    monkeypatch.setattr(calibrate, "_measured", lambda _: pytest.fail("measured again"))
    assert calibrate.calibrate() == found[0]


def test_what_is_only_assumed_is_measured_before_the_first_plan_if_asked(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "QUICK_RUN_S", 0.0)
    monkeypatch.setattr(calibrate, "STEADY", 1e9)
    assert calibrate.ready().origin == "assumed", "nobody asked for it"
    monkeypatch.setenv("ORCHESTRATOR_CALIBRATE", "on")
    assert calibrate.ready().origin == "measured"
    assert list(cache.rglob("*.json"))
    monkeypatch.setattr(calibrate, "_in_a_hurry", lambda _: pytest.fail("measured again"))
    assert calibrate.ready() == this_device()


def test_a_busy_machine_is_asked_once_and_nothing_of_it_is_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_CALIBRATE", "on")
    asked: list[Device] = []
    monkeypatch.setattr(calibrate, "_in_a_hurry", asked.append)
    assert calibrate.ready().origin == "assumed"
    assert calibrate.ready().origin == "assumed"
    assert len(asked) == 1
    assert not list(cache.rglob("*.json"))


def test_nothing_is_measured_where_that_is_off(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device_store.store(dataclasses.replace(this_device(), origin="measured"))
    monkeypatch.setenv("ORCHESTRATOR_CALIBRATE", "off")
    calibrate.forget()
    monkeypatch.setattr(calibrate, "_in_a_hurry", lambda _: pytest.fail("measured"))
    assert calibrate.ready().origin == "assumed"


def test_what_stays_in_the_last_cache_moves_as_fast_as_a_cache() -> None:
    device = known_device("cpu", "cpu")
    rates = [device.holding(size * 2**20).bandwidth for size in (0, 8, 32, 36, 44, 48, 500)]
    assert rates[0] == rates[1] == rates[2] == pytest.approx(device.cache_bandwidth)
    assert rates == sorted(rates, reverse=True)
    assert device.bandwidth < rates[4] < rates[3] < device.cache_bandwidth
    assert rates[5] == rates[6] == device.bandwidth
    # Seconds of a byte are those of the part that is there and of the part that is not.
    assert 1 / rates[3] == pytest.approx(0.75 / device.cache_bandwidth + 0.25 / device.bandwidth)


def test_a_gpus_memory_is_as_published_whatever_is_kept() -> None:
    device = known_device("NVIDIA H200", "gpu")
    assert device.holding(2**20) is device
