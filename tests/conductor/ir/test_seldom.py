"""The garbage collector looks less often while a graph is built, and as often as before then."""

import gc
import threading

import pytest

from orchestrator_core.conductor.ir.seldom import TIMES_AS_SELDOM, collecting_seldom


@pytest.fixture(autouse=True)
def usual():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


SELDOM = (700 * TIMES_AS_SELDOM, 10, 10)


def test_the_threshold_is_higher_inside_and_as_before_outside():
    with collecting_seldom():
        with collecting_seldom():
            assert gc.get_threshold() == SELDOM
        assert gc.get_threshold() == SELDOM
    assert gc.get_threshold() == (700, 10, 10)


def test_it_is_as_before_after_an_error():
    with pytest.raises(KeyError), collecting_seldom():
        raise KeyError
    assert gc.get_threshold() == (700, 10, 10)


def test_the_last_of_two_threads_that_leaves_sets_it_back():
    inside, may_leave = threading.Event(), threading.Event()

    def other():
        with collecting_seldom():
            inside.set()
            may_leave.wait(60)

    thread = threading.Thread(target=other)
    with collecting_seldom():
        thread.start()
        assert inside.wait(60)
    assert gc.get_threshold() == SELDOM
    may_leave.set()
    thread.join(60)
    assert gc.get_threshold() == (700, 10, 10)


def test_what_the_program_sets_meanwhile_stays():
    with collecting_seldom():
        gc.set_threshold(5, 5, 5)
    assert gc.get_threshold() == (5, 5, 5)


def test_a_collector_that_is_off_stays_off():
    gc.set_threshold(0)
    with collecting_seldom():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0
