"""The cases of the table, a file for each family."""

from __future__ import annotations

from tests.benchmarks.conductor.case import Case
from tests.benchmarks.conductor.cases.attention import ATTENTION
from tests.benchmarks.conductor.cases.loops import LOOPS
from tests.benchmarks.conductor.cases.losses import LOSSES
from tests.benchmarks.conductor.cases.nearest import NEAREST
from tests.benchmarks.conductor.cases.pairs import PAIRS
from tests.benchmarks.conductor.cases.recurrences import RECURRENCES
from tests.benchmarks.conductor.cases.relative import RELATIVE
from tests.benchmarks.conductor.cases.running import RUNNING
from tests.benchmarks.conductor.cases.sums import SUMS
from tests.benchmarks.conductor.cases.transformers import TRANSFORMERS
from tests.benchmarks.conductor.cases.transport import TRANSPORT

CASES: tuple[Case, ...] = (
    *ATTENTION,
    *RELATIVE,
    *RUNNING,
    *TRANSFORMERS,
    *PAIRS,
    *NEAREST,
    *SUMS,
    *LOSSES,
    *RECURRENCES,
    *LOOPS,
    *TRANSPORT,
)
