"""The log of a worker: each line names its home, goes to that home alone, and shows no secret of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from hub.cluster.log import FORMAT, HomeLogs, within
from hub.security.redaction import Redactor


class Kept(logging.Handler):
    """Keeps the lines."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def logs(kept: Kept) -> Iterator[HomeLogs]:
    """The log of a worker, at a logger of its own."""
    logs = HomeLogs(kept, Redactor())
    logger = logging.getLogger("worker under test")
    logger.addHandler(logs)
    logger.propagate = False
    yield logs
    logger.removeHandler(logs)
    logger.propagate = True


def redactor(secret: str) -> Redactor:
    made = Redactor()
    made.register(secret)
    return made


async def test_what_a_home_begins_is_logged_as_its_own_and_for_it_alone(logs: HomeLogs, kept: Kept) -> None:
    elm, oak = logs.add("elm", redactor("elms-secret")), logs.add("oak", redactor("oaks-secret"))
    log = logging.getLogger("worker under test")

    async def later() -> None:
        await asyncio.sleep(0)
        log.warning("the key is elms-secret")

    with within("elm"):
        begun = asyncio.ensure_future(later())
    with within("oak"):
        log.warning("the key is oaks-secret")
    await begun
    log.warning("both are elms-secret and oaks-secret")

    assert [line.partition("[")[2] for line in kept.lines] == [
        "oak] worker under test: the key is [redacted]",
        "elm] worker under test: the key is [redacted]",
        "-] worker under test: both are [redacted] and [redacted]",
    ]
    assert [len(each.read().lines) for each in (elm, oak)] == [1, 1]


def test_a_home_that_is_closed_has_no_lines_any_more(logs: HomeLogs) -> None:
    tail = logs.add("elm", Redactor())
    logs.remove("elm")

    with within("elm"):
        logging.getLogger("worker under test").warning("late")

    assert tail.read().lines == []
