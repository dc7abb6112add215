"""Which GPUs a worker may use: by NVIDIA's driver, without starting anything on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

DRIVER = "/proc/driver/nvidia/gpus"


def accelerators(
    driver: str = DRIVER, environment: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Name and bytes of memory (0: not known) of each GPU that the worker may use."""
    found = _by_library() or _by_driver(driver)
    visible = (os.environ if environment is None else environment).get("CUDA_VISIBLE_DEVICES")
    return found if visible is None else _chosen(found, visible)


def _by_library() -> list[dict[str, Any]]:
    """By `pynvml`, where that is installed and there is a driver."""
    try:
        import pynvml  # type: ignore[import-not-found, unused-ignore]

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [_described(pynvml, handle) for handle in handles]
    except Exception:
        return []


def _described(pynvml: Any, handle: Any) -> dict[str, Any]:
    name, uuid = pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetUUID(handle)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total
    return {"name": _text(name), "uuid": _text(uuid), "memory": int(memory)}


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _by_driver(driver: str) -> list[dict[str, Any]]:
    """By the files of the kernel's driver, in the order of their addresses on the bus."""
    try:
        cards = sorted(os.listdir(driver))
    except OSError:
        return []
    return [
        {"name": said["Model"], "uuid": said.get("GPU UUID", ""), "memory": 0}
        for said in (_lines(os.path.join(driver, card, "information")) for card in cards)
        if "Model" in said
    ]


def _lines(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            pairs = [line.partition(":") for line in lines]
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in pairs}


def _chosen(found: list[dict[str, Any]], visible: str) -> list[dict[str, Any]]:
    """Those that ``CUDA_VISIBLE_DEVICES`` names, by number or UUID, up to the first unknown one."""
    chosen = []
    for word in (part.strip() for part in visible.split(",")):
        if word.isdigit() and int(word) < len(found):
            chosen.append(found[int(word)])
        else:
            card = [one for one in found if word and one["uuid"].startswith(word)]
            if not card:
                break
            chosen.append(card[0])
    return chosen
