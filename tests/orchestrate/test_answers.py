"""Answers that are kept are told again as they were, and only for as long as they hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core import Budget, Instance
from orchestrator_core.orchestrate.answers import Answer, place_of, question_of
from orchestrator_core.orchestrate.expect import expected_makespan
from orchestrator_core.orchestrate.forecaster import Forecaster
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.store.memory import MemoryStore
from tests.random_instances import random_instance

PLANNING = Budget(seconds=10.0, iterations=5)
LONG = 10.0


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def memory(store: MemoryStore) -> Memory:
    return Memory(store, in_memory=False)


@pytest.fixture
def forecaster(memory: Memory) -> Forecaster:
    return Forecaster(memory, budget=PLANNING, planners=("heft", "local-search-general"))


def random_of(seed: int) -> Instance:
    """With transfers, threads, and some with modes, resources or counts."""
    return random_instance(
        np.random.default_rng(seed),
        tasks=5 + 2 * seed,
        workers=2 + seed % 3,
        threads=True,
        modes=seed % 3 == 1,
        resources=seed % 3 == 2,
        counts=seed % 4 == 3,
    )


def at(instance: Instance, factor: float) -> Instance:
    return Instance(instance.graph, instance.cluster, instance.seconds * factor)


def in_full(forecaster: Forecaster, instance: Instance, pessimistic: Instance) -> Answer:
    """By all that a stored schedule is asked, which is then kept."""
    result, cache = forecaster.schedule(instance)
    assert cache == "hit"
    answer = Answer(result, expected_makespan(instance, pessimistic, result))
    forecaster.keep_answer(instance, pessimistic, answer)
    return answer


def same(told: Answer | None, answer: Answer) -> bool:
    """But for the time that it took to tell it."""
    return told is not None and answer == replace(
        told, result=replace(told.result, seconds=answer.result.seconds)
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("drift", [1.0, 1.004])
def test_it_has_the_same_numbers(
    forecaster: Forecaster, memory: Memory, seed: int, drift: float
) -> None:
    """Under the prices that the schedule was stored for, and under others that it is retimed to."""
    planned = random_of(seed)
    forecaster.schedule(planned)
    memory.settle(LONG)
    asked, pessimistic = at(planned, drift), at(planned, drift * 1.3)
    assert forecaster.known_answer(asked, pessimistic) is None
    answer = in_full(forecaster, asked, pessimistic)
    memory.settle(LONG)
    assert same(forecaster.known_answer(asked, pessimistic), answer)


def known(forecaster: Forecaster, memory: Memory) -> tuple[Instance, Instance]:
    """An instance and its pessimistic prices, for which an answer is kept."""
    instance = random_of(3)
    forecaster.schedule(instance)
    memory.settle(LONG)
    pessimistic = at(instance, 1.3)
    in_full(forecaster, instance, pessimistic)
    memory.settle(LONG)
    assert forecaster.known_answer(instance, pessimistic) is not None
    return instance, pessimistic


def test_it_is_about_these_prices_only(forecaster: Forecaster, memory: Memory) -> None:
    instance, pessimistic = known(forecaster, memory)
    assert forecaster.known_answer(at(instance, 1.0001), pessimistic) is None
    assert forecaster.known_answer(instance, at(instance, 1.4)) is None
    assert forecaster.known_answer(instance, None) is None


def test_another_schedule_ends_it(
    forecaster: Forecaster, memory: Memory, store: MemoryStore
) -> None:
    instance, pessimistic = known(forecaster, memory)
    key = Keys.of(instance.graph, instance.cluster).priced(instance)
    stored = store.find(key)
    assert stored is not None
    store.put(replace(stored, makespan=stored.makespan * 0.99))
    assert forecaster.known_answer(instance, pessimistic) is None


@pytest.mark.parametrize("damage", [b"", b"{}", b"cut short"])
def test_what_is_damaged_is_none(
    forecaster: Forecaster, memory: Memory, store: MemoryStore, damage: bytes
) -> None:
    instance, pessimistic = known(forecaster, memory)
    place = place_of(question_of(instance, pessimistic, "makespan"))
    text = store.costs(place)
    assert text is not None
    store.put_costs(place, damage if damage != b"cut short" else text[:-9])
    assert forecaster.known_answer(instance, pessimistic) is None


def test_a_schedule_that_breaks_a_rule_is_no_answer(
    forecaster: Forecaster, memory: Memory, store: MemoryStore
) -> None:
    """Whoever can write to the database could have made one up."""
    instance, pessimistic = known(forecaster, memory)
    place = place_of(question_of(instance, pessimistic, "makespan"))
    text = store.costs(place)
    assert text is not None
    first = instance.graph.names[0].encode()
    store.put_costs(place, text.replace(b'"' + first + b'"', b'"nobody"'))
    assert forecaster.known_answer(instance, pessimistic) is None
