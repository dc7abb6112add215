"""GPUs are found by the driver's files, and only those count that the worker may use."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator_core.execute.dask.workers.shipped.accelerators import accelerators

H100 = {"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-aaaa-1", "memory": 0}
T4 = {"name": "Tesla T4", "uuid": "GPU-bbbb-2", "memory": 0}


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    for slot, card in (("0000:01:00.0", H100), ("0000:02:00.0", T4)):
        (tmp_path / slot).mkdir()
        (tmp_path / slot / "information").write_text(
            f"Model: \t\t {card['name']}\nIRQ:   \t\t 24\nGPU UUID: \t {card['uuid']}\n"
        )
    (tmp_path / "0000:03:00.0").mkdir()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, [H100, T4]),
        ("0,1", [H100, T4]),
        ("1", [T4]),
        (" 1 , 0 ", [T4, H100]),
        ("GPU-bbbb", [T4]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0,7,1", [H100]),
    ],
)
def test_those_that_the_worker_may_use(
    driver: str, visible: str | None, found: list[object]
) -> None:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert accelerators(driver, environment) == found


def test_no_driver_no_accelerators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert accelerators(str(tmp_path / "none"), {}) == []
    assert accelerators(str(tmp_path / "none"), {"CUDA_VISIBLE_DEVICES": "0"}) == []


def test_the_library_also_knows_the_memory(driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda i: i,
        nvmlDeviceGetName=lambda handle: b"NVIDIA A100",
        nvmlDeviceGetUUID=lambda handle: "GPU-1",
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=42),
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert accelerators(driver, {}) == [{"name": "NVIDIA A100", "uuid": "GPU-1", "memory": 42}]
    del library.nvmlInit
    assert accelerators(driver, {}) == [H100, T4], "a library that fails is as good as none"
