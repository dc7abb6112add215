"""Certificate: why no schedule is shorter than a bound, as plain data (stage 3).

It is a tree of cases, and each case names the arguments that settle it. `check_certificate.py`
follows them with code of its own; it never has to search, nor to solve a linear program.

- Paths need no argument: heads and tails are derived anew for "shorter than `upper`".
- Multipliers of windows and paths add up to a bound on work that must be shared.
- Prices of whole tasks add up to more than all workers hold within a limit.
- Whatever edges are cut, wherever tasks run and in whichever order, it takes longer.
- A raised head or tail, or an excluded worker, is used by all that follows.
- A task runs on one of its workers: one case for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from orchestrator_core.errors import InvalidFormat


@dataclass(frozen=True, slots=True)
class Window:
    """Tasks that start no sooner than `since` on a worker and have at least `until` behind them.

    Attributes:
        kind: of work: 0 for threads, else 1 + the position of a resource by name.
        since, until: seconds. multiplier: > 0.
        unit: seconds of a task of which only whole ones have room; 0 if that is not asked.
    """

    kind: int
    worker: int
    since: float
    until: float
    multiplier: float
    unit: float = 0.0


@dataclass(frozen=True, slots=True)
class Path:
    """The shortest schedule with a task on each of its workers, averaged over them."""

    task: int
    multiplier: float


@dataclass(frozen=True, slots=True)
class Sum:
    """Windows and paths whose sum, times their multipliers, is the bound.

    Attributes:
        known: seconds by which the room of rounded windows is measured; a guess, but the sum must
            be more.
    """

    windows: tuple[Window, ...]
    paths: tuple[Path, ...]
    known: float = 0.0


@dataclass(frozen=True, slots=True)
class Packing:
    """Whole tasks do not fit on the workers within `limit` seconds.

    For what each worker has room for between heads and tails, the dearest set of tasks is sought;
    all these sets are worth less than all the tasks.

    Attributes:
        tasks: those that are looked at; none where heads and tails contradict each other alone.
        prices: whole numbers > 0.
    """

    limit: float
    tasks: tuple[int, ...]
    prices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refutation:
    """No schedule is shorter than `limit` seconds, whatever is decided.

    Attributes:
        steps: a tree, each node before its first case, and that before its second one. A step is
            (0, producer, consumer): they run on one worker, or on two; (1, task, worker): the task
            runs there, or elsewhere; (2, a, b): of two tasks on one worker, a ends before b starts,
            or b before a; (3, 0, 0): what is decided contradicts itself. With 4 added to the first
            number, the second case comes first.
    """

    limit: float
    steps: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Raise:
    """The head of a task (`forward`) or its tail on one worker is at least `value` seconds.

    It follows from what is before it, or after it, if that must be done within `limit` seconds. If
    there is no time for so much, the task cannot run there.
    """

    task: int
    worker: int
    forward: bool
    value: float
    limit: float
    sum: Sum | None


@dataclass(frozen=True, slots=True)
class Exclude:
    """A task cannot run on a worker: heads and tails contradict each other if it does."""

    task: int
    worker: int


@dataclass(frozen=True, slots=True)
class Step:
    """Arguments of which none needs another, after which heads and tails are derived anew."""

    raised: tuple[Raise, ...] = ()
    excluded: tuple[Exclude, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """What settles a case: steps, then a packing and sums, then a case for each worker of `task`.

    Attributes:
        packing: the one with the largest limit; it needs no sum, but a sum may need it.
        refutation: the same.
        sums: one after the other, since each may use what is known by the one before.
        task: single task on whose worker the cases depend; -1 if there are none.
        workers, cases: each worker that is still possible, and its case.
    """

    steps: tuple[Step, ...] = ()
    sums: tuple[Sum, ...] = ()
    packing: Packing | None = None
    refutation: Refutation | None = None
    task: int = -1
    workers: tuple[int, ...] = ()
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """No schedule of the instance is shorter than `bound` seconds.

    ``orchestrator_core.check_certificate(instance, certificate)`` derives that anew.

    Attributes:
        upper: the argument is for schedules shorter than this; None if for all.
        case: the argument.
    """

    bound: float
    upper: float | None
    case: Case

    @property
    def kind(self) -> str:
        """`paths`, `windows`, `packing`, `cones`, `cuts` or `tree`: the strongest argument used."""
        if self.case.cases:
            return "tree"
        if self.case.refutation is not None:
            return "cuts"
        if self.case.packing is not None:
            return "packing"
        if self.case.steps:
            return "cones"
        return "windows" if self.case.sums else "paths"

    def to_json(self) -> bytes:
        """JSON of its fields; UTF-8."""
        return msgspec.json.encode(self)

    @staticmethod
    def from_json(text: str | bytes) -> Certificate:
        """The certificate that `to_json` wrote.

        Raises:
            InvalidFormat: if the text is no such JSON.
        """
        try:
            return msgspec.json.decode(text, type=Certificate)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise InvalidFormat(f"no certificate in JSON: {error}") from None
