"""Which processor this machine has, and how fast it runs a fixed piece of Python."""

from __future__ import annotations

import re
import time

CPU_INFO = "/proc/cpuinfo"

ROUNDS = 9
"""The fastest of this many rounds counts: others were disturbed."""

STEPS = 20_000
"""Steps of a round, which then takes about a millisecond."""

_NOISE = re.compile(
    r"\((?:r|tm|c)\)|@.*|\b(?:\d+-core|cpu|processor|with .*|intel|amd|genuine|apple)\b",
    re.IGNORECASE,
)


def processor(path: str = CPU_INFO) -> str:
    """The model in short, such as ``epyc-7763`` or ``xeon-platinum-8481c``; "" if not known."""
    import platform

    return shortened(_model(path) or platform.processor())


def shortened(model: str) -> str:
    """Letters and digits that tell one model from another, at most 32."""
    words = re.findall(r"[a-z0-9]+", _NOISE.sub(" ", model).lower())
    return "-".join(words)[:32].rstrip("-")


def round_seconds(rounds: int = ROUNDS) -> float:
    """Seconds of processor time for a fixed loop, as far as possible undisturbed.

    Time of this thread alone: waiting for a core or for the interpreter does not count, so that
    workers that share a machine measure the same.
    """
    return min(_round() for _ in range(rounds))


def _round() -> float:
    begun = time.thread_time()
    x, seen = 1, {}
    for i in range(STEPS):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        seen[x & 255] = i
    return time.thread_time() - begun


def _model(path: str) -> str:
    """The first model name that Linux tells."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip().lower() in ("model name", "hardware", "cpu model"):
                    return value.strip()
    except OSError:
        return ""
    return ""
