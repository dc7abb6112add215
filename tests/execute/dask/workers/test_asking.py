"""Workers answer one message, and nobody hears of those that have gone."""

from __future__ import annotations

from distributed import Client, Scheduler, Worker
from distributed.utils_test import captured_logger

from orchestrator_core.execute.dask.workers.asking import answers
from tests.execute.dask.cluster import cluster_test


@cluster_test()
async def test_who_has_left_is_left_out_without_a_word(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    gone = b.address
    await b.close()
    with captured_logger("distributed.scheduler") as said:
        found = await answers(s, [gone, a.address], "identity")
    assert found[a.address]["id"] == a.id
    assert set(found) == {a.address}
    assert said.getvalue() == "", "Scheduler.broadcast would say that it failed"


@cluster_test()
async def test_who_fails_is_left_out(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    def broken() -> None:
        raise RuntimeError("cannot say")

    b.handlers["identity"] = broken
    assert set(await answers(s, [a.address, b.address], "identity")) == {a.address}
