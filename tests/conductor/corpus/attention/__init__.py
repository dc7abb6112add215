"""Attention as many people write it: one case for each way that differs in dataflow."""

from __future__ import annotations

from tests.conductor.corpus.attention.composed import COMPOSED, PAIRED
from tests.conductor.corpus.attention.modules import MODULES
from tests.conductor.corpus.attention.types import TYPES
from tests.conductor.corpus.attention.written import WRITTEN

SPELLINGS = [*COMPOSED, *TYPES, *WRITTEN, *MODULES]
"""The corpus."""

__all__ = ["PAIRED", "SPELLINGS"]
