"""An answer in time: of the index when it is there by then, else of the files."""

from __future__ import annotations

import asyncio

import pytest

from hub.core.errors import InvalidRequest
from hub.memory.contract import SearchAnswer
from integrations.memory.notes.client.deadline import LATE, within_deadline

LONG_S = 30.0
SHORT_S = 0.02
INDEX = SearchAnswer((), ("vectors:exact", "keywords:fts5"), 1.0)

Told = tuple[SearchAnswer | None, str | None]


class Files:
    """Files that tell when they are let, and keep why they were read."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.asked: list[str | None] = []
        self.limits: list[float] = []
        self.begun = asyncio.Event()
        self._let = asyncio.Event()
        if at_once:
            self._let.set()

    async def look(self, limit_s: float, why: str | None) -> SearchAnswer:
        self.asked.append(why)
        self.limits.append(limit_s)
        self.begun.set()
        await self._let.wait()
        return SearchAnswer((), ("grep",), 1.0, why)


def index(told: Told | Exception | None = None) -> asyncio.Future[Told]:
    future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
    if isinstance(told, Exception):
        future.set_exception(told)
    elif told is not None:
        future.set_result(told)
    return future


@pytest.mark.parametrize("awake", [True, False])
async def test_what_the_index_has_is_answered_and_no_file_is_read(awake: bool) -> None:
    files = Files()

    answer = await within_deadline(index((INDEX, None)), files.look, LONG_S, awake=awake)

    assert answer is INDEX
    assert files.asked == []


@pytest.mark.parametrize("awake", [True, False])
async def test_where_there_is_no_index_the_files_say_why(awake: bool) -> None:
    files = Files()

    answer = await within_deadline(index((None, "it is away")), files.look, LONG_S, awake=awake)

    assert (answer.engines, answer.degraded) == (("grep",), "it is away")


async def test_an_index_that_is_late_is_answered_for_by_the_files_and_goes_on() -> None:
    late, files = index(), Files()

    answer = await within_deadline(late, files.look, SHORT_S, awake=True)

    assert (answer.engines, answer.degraded) == (("grep",), LATE)
    assert not late.done()
    assert all(limit_s < SHORT_S for limit_s in files.limits)


async def test_an_index_that_starts_is_not_waited_for_when_the_files_have_told() -> None:
    answer = await within_deadline(index(), Files().look, LONG_S, awake=False)

    assert answer.engines == ("grep",)


@pytest.mark.parametrize("awake", [True, False])
async def test_an_index_that_is_sooner_than_the_files_is_answered(awake: bool) -> None:
    slow, files = index(), Files(at_once=False)
    within_s = 10.0 if awake else LONG_S  # a quarter of it goes by before the files are read
    asking = asyncio.ensure_future(within_deadline(slow, files.look, within_s, awake=awake))
    await files.begun.wait()

    slow.set_result((INDEX, None))

    assert await asking is INDEX


async def test_an_index_that_fails_late_leaves_it_to_the_files() -> None:
    slow, files = index(), Files()
    asking = asyncio.ensure_future(within_deadline(slow, files.look, 2.0, awake=True))
    await files.begun.wait()

    slow.set_result((None, "it ended"))

    assert (await asking).engines == ("grep",)


async def test_a_question_that_cannot_be_is_refused_as_ever() -> None:
    with pytest.raises(InvalidRequest):
        await within_deadline(index(InvalidRequest("no")), Files().look, LONG_S, awake=True)


async def test_who_waits_no_longer_leaves_the_index_alone() -> None:
    slow, files = index(), Files(at_once=False)
    asking = asyncio.ensure_future(within_deadline(slow, files.look, LONG_S, awake=False))
    await files.begun.wait()

    asking.cancel()
    await asyncio.wait([asking])

    assert asking.cancelled()
    assert not slow.done()
