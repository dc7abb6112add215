"""MemoryStore takes the exam; it is the reference."""

from __future__ import annotations

import pytest

from orchestrator_core.store.memory import MemoryStore
from tests.contracts.store_contract import Make, StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def make(self) -> Make:
        return MemoryStore
