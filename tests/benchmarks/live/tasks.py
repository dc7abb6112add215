"""What the benchmark's tasks do; imported by the worker processes, so it imports nothing heavy.

A task sleeps instead of computing: workers of other speeds can then be had on one machine.
"""

from __future__ import annotations

import os
import time

SPEED = "LIVE_BENCHMARK_SPEED"
"""Environment variable of a worker process: reference seconds that it does in a second."""

NUMBER_BYTES = 8
MODULUS = 2**61 - 1


def work(seconds: float, nbytes: int, *inputs: bytes) -> bytes:
    """At least `nbytes` bytes that begin with a number: one more than the sum of the inputs'.

    Takes `seconds` divided by the speed of the worker's process.
    """
    time.sleep(seconds / float(os.environ.get(SPEED, "1")))
    number = combined([number_of(each) for each in inputs])
    # Written to, or the operating system would not give the memory.
    return number.to_bytes(NUMBER_BYTES, "big") + b"\1" * max(0, nbytes - NUMBER_BYTES)


def combined(numbers: list[int]) -> int:
    """The number of a task with inputs of these numbers."""
    return (1 + sum(numbers)) % MODULUS


def number_of(output: bytes) -> int:
    """The number that an output begins with."""
    return int.from_bytes(output[:NUMBER_BYTES], "big")
