"""What is learned of tasks, kinds and workers: the parts of `HistoryCosts`. Plain numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskCosts:
    """What is special to a named task of a kind.

    Attributes:
        log_seconds: what its log work differs from its kind's by. variance: of that.
        nbytes: size of its output in bytes, or None if not known.
    """

    name: str
    log_seconds: float
    variance: float
    nbytes: float | None


@dataclass(frozen=True)
class PairCosts:
    """What is special to a kind on a worker kind: added to log seconds; `variance` of that."""

    worker_kind: str
    log_seconds: float
    variance: float


@dataclass(frozen=True)
class FeatureCosts:
    """How the tasks of a kind depend on a number that they are given.

    Attributes:
        exponent: work grows with this power of it; 0 where nothing says that it matters.
        variance: of the exponent.
        reference: the logarithm of it, at which the rest of what is known of the kind holds.
        low, high: the least and the most that was seen of it.
        may_matter: is it that tasks took longer with it, but as well for another cause?
    """

    name: str
    exponent: float
    variance: float
    reference: float
    low: float
    high: float
    may_matter: bool = False


@dataclass(frozen=True)
class KindCosts:
    """What is known of a kind of tasks.

    Attributes:
        samples: observations.
        log_seconds: log of the seconds of work on a worker of effect 0, beside the overhead.
        overhead: seconds that it takes on any worker but those in `overheads`.
        between: standard deviation of log work between its tasks.
        noise: standard deviation of log work when one of them is repeated on one worker.
        unsure: variance of the log slowness of each of `HistoryCosts.workers`, beside those that
            the kind ran on.
        nbytes: size of its outputs in bytes, or None if not known.
        memory: bytes that it takes while it runs, or None if not known.
        device_memory: bytes that it needs on an accelerator, or None if not known.
        setup: seconds for which a process compiles before its first one, or None if none was seen
            to; no part of its work.
        overheads: (worker kind, overhead there), where that was measured.
        features: of the numbers that its tasks are given.
    """

    kind: str
    samples: int
    log_seconds: float
    overhead: float
    between: float
    noise: float
    unsure: tuple[float, ...]
    nbytes: float | None
    pairs: tuple[PairCosts, ...] = ()
    tasks: tuple[TaskCosts, ...] = ()
    memory: float | None = None
    device_memory: float | None = None
    setup: float | None = None
    overheads: tuple[tuple[str, float], ...] = ()
    features: tuple[FeatureCosts, ...] = ()


@dataclass(frozen=True)
class WorkerCosts:
    """What is known of a kind of workers.

    Attributes:
        samples: observations.
        log_seconds: log slowness; 0.69 more takes twice as long.
        speed: declared speed when it was learned, or None.
    """

    kind: str
    samples: int
    log_seconds: float
    speed: float | None = None


@dataclass(frozen=True)
class NamedWorker:
    """A worker that differs from its kind: `finer` is the kind of those that are as fast as it."""

    kind: str
    name: str
    finer: str
