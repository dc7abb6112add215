"""Flows that cannot be followed: the comment ``# here`` marks the line that must be named."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from prefect import flow, runtime, task
from prefect.futures import as_completed, wait
from prefect.variables import Variable

CANARY = Path(os.environ.get("CANARY", "canary"))

LOG = tempfile.TemporaryFile("w+")  # noqa: SIM115 it is open as long as the module is there


@task
def load(i: int = 0) -> int:
    CANARY.write_text("a task ran")
    return i


@task
def many() -> Any:
    yield from range(3)


@flow
def yields() -> Any:
    yield load.submit()


def branches() -> Any:
    if load.submit(1).result() > 3:  # here: is compared
        load.submit(2)


def asks_for_truth() -> Any:
    found = load.submit(1).result()
    while not found:  # here: is looked at as true or false
        found = load.submit(2).result()


def asks_for_none() -> Any:
    found = load.submit(1).result()
    if found is None:  # here: is looked at
        load.submit(2)


def loops_over() -> Any:
    for i in load.submit(1).result():  # here: is looped over or unpacked
        load.submit(i)


def unpacks() -> Any:
    a, b = load.submit(1).result()  # here: is looped over or unpacked
    load.submit(a + b)


def counts() -> Any:
    n = len(load.submit(1).result())  # here: is counted
    return load.map(range(n))


def maps_over_a_result() -> Any:
    return load.map(load.submit(1).result())  # here: is looped over or unpacked


def maps_over_a_future() -> Any:
    return load.map(load.submit(1))  # here: maps over the result of task 'load-0'


def takes_a_number() -> Any:
    return range(load.submit(1).result())  # here: is taken for a number


def computes() -> Any:
    return load.submit(load.submit(1).result() + 1)  # here: is computed with


def indexes() -> Any:
    found = load.submit(1).result()
    return load.submit(found["x"])  # here: is indexed


def asks_for_an_attribute() -> Any:
    return load.submit(load.submit(1).result().shape)  # here: is asked for its 'shape'


def makes_text() -> Any:
    found = load.submit(1).result()
    return load.submit(f"n = {found}")  # here: is looked at


def makes_text_by_a_template() -> Any:
    template = "n = %s"
    return load.submit(template % load.submit(1).result())  # here: is made into text


def joins_text() -> Any:
    return load.submit("".join([load.submit(1).result()]))  # here: the flow's code raised TypeError


def puts_into_a_set() -> Any:
    return {load.submit(1).result()}  # here: is compared


def asks_for_a_type() -> Any:
    found = load.submit(1).result()
    if isinstance(found, list):  # here: isinstance() looks at
        load.map(found)


def asks_for_a_state() -> Any:
    state = load.submit(1, return_state=True)
    if state.is_completed():  # here: the state of task 'load-0' is asked for its 'is_completed'
        load.submit(2)


def matches() -> Any:
    match load.submit(1).result():  # here: is looked at
        case 1:
            load.submit(2)


def in_the_order_of_ends() -> Any:
    futures = load.map([1, 2])
    for future in as_completed(futures):  # here: gives tasks in the order in which they end
        load.submit(future)


def waits_for_a_time() -> Any:
    wait(load.map([1, 2]), timeout=5)  # here: how far a task is after some time


def calls_a_task_that_yields() -> Any:
    return [load.submit(i) for i in many()]  # here: task 'many' yields


def calls_what_a_task_runs() -> Any:
    return load.fn(3)  # here: load() is what a task runs


def delays() -> Any:
    return load.delay(1)  # here: delay() of task 'load' asks the Prefect server


def asks_for_a_variable() -> Any:
    return load.submit(Variable.get("name"))  # here: needs a run, or asks the Prefect server


def asks_for_the_run() -> Any:
    return load.submit(runtime.flow_run.get_name())  # here: needs a run, or asks the Prefect server


def writes_a_file() -> Any:
    with open(CANARY, "w") as file:  # here: writes a file
        file.write("x")


def writes_a_path() -> Any:
    CANARY.write_text("x")  # here: writes a file


def makes_a_folder() -> Any:
    CANARY.mkdir()  # here: changes files


def writes_to_what_is_open() -> Any:
    LOG.write("a customer was charged")  # here: write() may write to a file that is open


def writes_to_what_is_open_by_callback() -> Any:
    list(map(LOG.write, ["x"]))  # here: write() may write to a file that is open


def hands_on_what_is_open() -> Any:
    json.dump([1], LOG)  # here: json.dump() may write to a file that is open


def makes_a_folder_by_callback() -> Any:
    list(map(os.mkdir, [CANARY]))  # here: os.mkdir() may do anything


def makes_a_folder_by_a_partial_method() -> Any:
    list(map(Path.mkdir, [CANARY]))  # here: changes files


def removes() -> Any:
    shutil.rmtree(CANARY)  # here: shutil.rmtree() may do anything


def starts_a_process() -> Any:
    subprocess.run(["touch", CANARY])  # here: subprocess.run() may do anything


def uses_the_shell() -> Any:
    os.system(f"touch {CANARY}")  # here: os.system() may do anything


def connects() -> Any:
    socket.create_connection(("127.0.0.1", 9))  # here: socket.create_connection() may do anything


def fetches() -> Any:
    return urllib.request.urlopen("http://127.0.0.1:9").read()  # here: urlopen() may do anything


def opens_a_database() -> Any:
    sqlite3.connect(CANARY)  # here: sqlite3.connect() may do anything


def starts_a_thread() -> Any:
    threading.Thread(target=CANARY.touch).start()  # here: threading.Thread() may do anything


def has_a_pool() -> Any:
    with ThreadPoolExecutor() as pool:  # here: ThreadPoolExecutor() may do anything
        pool.submit(CANARY.touch)


def runs_text() -> Any:
    exec("CANARY.touch()")  # here: exec() may do anything


def draws() -> Any:
    return load.submit(random.random())  # here: gives something else each time


def imports() -> Any:
    import this  # here: importing this here runs its code

    return load.submit(this.s)


def ends() -> Any:
    sys.exit(3)  # here: sys.exit() may do anything


def raises() -> Any:
    load.submit(1)
    raise LookupError("no such thing")  # here: the flow's code raised LookupError: no such thing


def catches_everything() -> Any:
    try:
        os.system(f"touch {CANARY}")  # here: os.system() may do anything
    except BaseException:
        os.system(f"touch {CANARY}")


def cleans_up() -> Any:
    try:
        return bool(load.submit(1).result())  # here: is looked at as true or false
    finally:
        os.system(f"touch {CANARY}")


def helper(found: Any) -> Any:
    return [each for each in found if each]  # here: is looped over or unpacked


def uses_a_helper() -> Any:
    return helper(load.submit(1).result())


def sorts() -> Any:
    found = load.map([1, 2]).result()
    return sorted(found)  # here: is compared


def has_a_lambda() -> Any:
    found = load.map([1, 2]).result()
    return list(filter(lambda each: each > 1, found))  # here: is compared


async def waits_for_nothing() -> Any:
    await asyncio.wait_for(asyncio.sleep(1), 2)  # here: asyncio.tasks.wait_for() may do anything


def never_ends() -> Any:
    while True:  # here: the code is still going after
        pass


def makes_a_class() -> Any:
    class Local:  # here: a class is made here
        CANARY.touch()

    return load.submit(Local.__name__)


def submits_without_end() -> Any:
    while True:
        load.submit(1)  # here: this is more than 50 tasks


TABLE: list[Callable[..., Any]] = [
    value
    for value in list(globals().values())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and value.__name__ not in ("helper", "load", "many", "yields")
]
