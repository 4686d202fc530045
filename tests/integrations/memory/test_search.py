"""Searching: the index is asked first, and when it cannot be had the files are read, and it is said why."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.core.errors import Forbidden, InvalidRequest, NotFound, Unavailable
from hub.memory.contract import NO_FILTERS, Filters, Forget, Hit, MemoryKind, SearchAnswer, Synced, Verified
from hub.memory.scope import MemoryScope
from hub.security.root import Root
from integrations.memory.notes.client.deadline import LATE
from integrations.memory.notes.files import grep
from integrations.memory.notes.files.matching import terms_of
from integrations.memory.notes.files.memory_files import MemoryFiles
from integrations.memory.notes.job import Job, Source, TranscriptSource
from tests.integrations.memory.notes_house import ANNA, NOBODY, OWNER, ROOM, TODAY, Notes

DAY = date(2026, 5, 12)


class KeptWorker:
    """A worker with scripted answers, which records its requests."""

    def __init__(self, *, fails: bool = False) -> None:
        self.running = self.awake = True
        self.asked: list[tuple[Any, ...]] = []
        self._fails = fails

    def _ask(self, *what: Any) -> None:
        self.asked.append(what)
        if self._fails:
            raise Unavailable("the index is away")

    async def search(
        self,
        job: Job,
        query: str,
        areas: Sequence[str],
        filters: Filters,
        limit: int | None,
        today: date,
        within_s: float | None = None,
    ) -> SearchAnswer:
        self._ask("search", query, tuple(areas), filters, limit, today)
        return SearchAnswer([Hit("memory/shared.md", 1, 1, "from the index", 0.9)], ["keywords:fts5"], 1.0)

    async def sync(self, job: Job, paths: Sequence[str] | None = None, *, force: bool = False) -> Synced:
        self._ask("sync", paths and tuple(paths), force)
        return Synced(1, 2, 3, 4, 5.0)

    async def verify(self, job: Job) -> Verified:
        self._ask("verify")
        return Verified(1, 2, [])

    async def status(self, job: Job) -> Mapping[str, Any]:
        self._ask("status")
        return {"chunks": 2}

    async def similar(
        self, job: Job, areas: Sequence[str], threshold: float, limit: int
    ) -> list[tuple[Hit, Hit, float]]:
        self._ask("similar", tuple(areas), threshold, limit)
        return []

    async def drop(self, job: Job, texts: Sequence[str]) -> None:
        self._ask("drop", tuple(texts))

    async def close(self) -> None:
        self._ask("close")


async def answer(notes: Notes, query: str, scope: MemoryScope = OWNER, limit: int | None = None) -> SearchAnswer:
    return await notes.memory.search(query, agent_id="main", scope=scope, limit=limit)


async def test_the_index_is_asked_within_the_areas_of_the_session(tmp_path: Path) -> None:
    worker = KeptWorker()
    notes = Notes(tmp_path, worker=worker)

    found = await answer(notes, "tea", ANNA, 3)

    assert [hit.text for hit in found.hits] == ["from the index"]
    assert worker.asked == [("search", "tea", ("person-anna", "shared"), NO_FILTERS, 3, DAY)]
    assert list((await answer(notes, "tea", NOBODY)).hits) == []
    assert len(worker.asked) == 1


async def test_without_the_index_the_files_are_read_and_it_is_said_why(tmp_path: Path) -> None:
    notes = Notes(tmp_path, worker=KeptWorker(fails=True))
    await notes.put("the boiler was serviced")

    found = await answer(notes, "boiler")

    assert [hit.text for hit in found.hits] == ["the boiler was serviced"]
    assert (found.engines, found.degraded) == (("grep",), "the index is away")
    status = await notes.memory.status(agent_id="main")
    assert (status["files"], status["passages"], status["index"], status["problem"]) == (
        1,
        1,
        None,
        "the index is away",
    )


class SleepingWorker(KeptWorker):
    """A worker that is long in waking."""

    def __init__(self, *, awake: bool) -> None:
        super().__init__()
        self.awake = awake
        self.left_s: list[float | None] = []
        self.woke, self.has_told = asyncio.Event(), asyncio.Event()

    async def search(
        self,
        job: Job,
        query: str,
        areas: Sequence[str],
        filters: Filters,
        limit: int | None,
        today: date,
        within_s: float | None = None,
    ) -> SearchAnswer:
        self.left_s.append(within_s)
        await self.woke.wait()
        self.has_told.set()
        return await super().search(job, query, areas, filters, limit, today)


@pytest.mark.parametrize("awake", [True, False])
async def test_who_cannot_wait_is_answered_from_the_files_and_the_index_wakes_meanwhile(
    tmp_path: Path, awake: bool
) -> None:
    worker = SleepingWorker(awake=awake)
    notes = Notes(tmp_path, worker=worker)
    await notes.put("the boiler was serviced")

    found = await notes.memory.search("boiler", agent_id="main", scope=OWNER, within_s=4.0)

    assert [hit.text for hit in found.hits] == ["the boiler was serviced"]
    assert (found.engines, found.degraded) == (("grep",), LATE)
    assert [left_s is not None and left_s < 4.0 for left_s in worker.left_s] == [True]
    worker.woke.set()
    await worker.has_told.wait()


async def test_in_a_hurry_too_nothing_is_seen_of_others_or_from_outside_or_that_holds_no_longer(tmp_path: Path) -> None:
    notes = Notes(tmp_path, worker=SleepingWorker(awake=False))
    await notes.put("the boiler is mine")
    await notes.put("the boiler of Anna", scope=ANNA)
    await notes.put("the boiler was in the web", scope=ANNA, trusted=False)
    await notes.put("the boiler is old", scope=ANNA)
    await notes.put("the boiler is new", scope=ANNA, replaces="the boiler is old")

    found = await notes.memory.search(
        "boiler", agent_id="main", scope=ANNA, filters=Filters(trusted=True), within_s=5.0
    )

    assert {hit.text for hit in found.hits} == {"the boiler of Anna", "the boiler is new"}


async def test_a_memory_that_was_closed_answers_in_time_too(tmp_path: Path) -> None:
    notes = Notes(tmp_path, worker=SleepingWorker(awake=True))
    await notes.put("the boiler was serviced")
    await notes.memory.close()

    found = await notes.memory.search("boiler", agent_id="main", scope=OWNER, within_s=5.0)

    assert [hit.text for hit in found.hits] == ["the boiler was serviced"]


async def test_a_write_is_told_to_the_index_before_it_is_answered(tmp_path: Path) -> None:
    worker = KeptWorker()
    notes = Notes(tmp_path, worker=worker)

    await notes.put("tea")
    await notes.rewrite(TODAY, "- coffee\n")

    assert worker.asked == [("sync", (TODAY,), False), ("sync", (TODAY,), False)]
    assert notes.changed == ["main", "main"]


async def test_an_index_that_does_not_run_is_not_started_by_a_write(tmp_path: Path) -> None:
    worker = KeptWorker()
    worker.running = False
    notes = Notes(tmp_path, worker=worker)

    await notes.put("tea")

    assert worker.asked == []


async def test_what_is_forgotten_leaves_the_cache_of_vectors(tmp_path: Path) -> None:
    worker = KeptWorker()
    notes = Notes(tmp_path, worker=worker)
    await notes.put("Anna likes tea", MemoryKind.PERSON)
    await notes.put("Ben likes coffee", MemoryKind.PERSON)

    await notes.remove(Forget("tea"))

    (dropped,) = [each for each in worker.asked if each[0] == "drop"]
    assert dropped == ("drop", ("Memory › People\nAnna likes tea",))
    assert worker.asked[-2] == ("sync", ("MEMORY.md",), False)


async def test_a_memory_that_was_closed_is_still_read_and_written(tmp_path: Path) -> None:
    worker = KeptWorker()
    notes = Notes(tmp_path, worker=worker)

    await notes.memory.close()
    await notes.memory.close()

    await notes.put("the boiler was serviced")
    assert await notes.found("boiler") == ["the boiler was serviced"]
    assert worker.asked == [("close",)]


async def test_a_query_that_is_too_long_is_refused_with_and_without_an_index(tmp_path: Path) -> None:
    for worker in (KeptWorker(), None):
        with pytest.raises(InvalidRequest):
            await answer(Notes(tmp_path, worker=worker), "x" * 2_001)


@pytest.mark.parametrize("scope", [OWNER, ANNA, ROOM, NOBODY])
async def test_it_is_known_without_a_search_that_there_is_nothing(notes: Notes, scope: MemoryScope) -> None:
    assert notes.memory.is_empty(agent_id="main", scope=scope) is True


async def test_what_is_there_is_somebodys(notes: Notes) -> None:
    await notes.put("tea", scope=ANNA)
    await notes.put("pizza", scope=ROOM)

    empty = [notes.memory.is_empty(agent_id="main", scope=scope) for scope in (OWNER, ANNA, ROOM, NOBODY)]

    assert empty == [True, False, False, True]
    await notes.put("tea")
    assert notes.memory.is_empty(agent_id="main", scope=OWNER) is False


@pytest.fixture
def elsewhere(tmp_path: Path) -> Notes:
    for name, text in {
        "vault/a.md": "- canary-vault\n", "vault/.hidden/b.md": "- canary-hidden\n", "vault/x.txt": "canary-text",
        "home/wifi.md": "- canary-home\n",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "vault" / "link.md").symlink_to(tmp_path / "home" / "wifi.md")
    lines = [
        {"type": "header", "key": "agent:main:main"},
        {"id": "e1", "type": "message", "ts_ms": 1_795_000_000_000, "provenance": {"trusted": True},
         "message": {"role": "user", "content": [{"type": "text", "text": "canary\nsaid"}]}},
        {"id": "e2", "type": "message", "ts_ms": 1_795_000_000_000, "provenance": {"trusted": True},
         "message": {"role": "tool", "content": "canary-tool"}},
        {"id": "e3", "type": "message", "ts_ms": 1_795_000_000_000, "provenance": {"trusted": True},
         "message": {"role": "assistant", "content": "ok"}},
    ]  # fmt: skip
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    (sessions / "s1.jsonl").write_bytes(b"\n".join(orjson.dumps(line) for line in lines) + b"\n{torn")
    sources = (
        Source("extra/vault", str(tmp_path / "vault"), "private", trusted=False),
        Source("extra/wifi", str(tmp_path / "home" / "wifi.md"), "shared", trusted=True),
        Source("transcripts", str(sessions), files=(TranscriptSource("s1", "s1.jsonl", "person-anna", "anna"),)),
    )
    return Notes(tmp_path, sources=sources)


async def test_files_of_extra_paths_are_read_and_found_by_who_may(elsewhere: Notes) -> None:
    assert await elsewhere.get("extra/vault/a.md") == "- canary-vault\n\n_from outside · untrusted_"
    assert await elsewhere.get("extra/wifi/wifi.md", ANNA) == "- canary-home\n"
    assert sorted((hit.path, hit.trusted) for hit in await elsewhere.search("canary")) == [
        ("extra/vault/a.md", False), ("extra/wifi/wifi.md", True)
    ]  # fmt: skip
    assert await elsewhere.found("canary", ANNA) == ["canary-home"]
    assert elsewhere.memory.is_empty(agent_id="main", scope=OWNER) is None


@pytest.mark.parametrize(
    "path",
    ["extra/vault/.hidden/b.md", "extra/vault/x.txt", "extra/vault/link.md", "extra/vault/../home/wifi.md",
     "extra/vault",
     "extra/none/a.md", "extra/wifi/other.md", "transcripts/s1", "transcripts/../s1", "extra/vault/"],
)  # fmt: skip
async def test_what_lies_beside_an_extra_path_is_not_read(elsewhere: Notes, path: str) -> None:
    with pytest.raises((NotFound, Forbidden)):
        await elsewhere.get(path)


async def test_a_conversation_is_read_line_for_line_by_whose_it_is(elsewhere: Notes) -> None:
    text = await elsewhere.get("transcripts/s1", ANNA)

    assert text == "\nuser: canary said\n\nassistant: ok\n"
    assert await elsewhere.get("transcripts/s1", ANNA, start=2, lines=1) == "user: canary said"
    listed = await elsewhere.notebook.files(agent_id="main", scope=ANNA)
    assert [(each.path, each.area, each.writable) for each in listed] == [
        ("extra/wifi/wifi.md", "shared", False), ("transcripts/s1", "person-anna", False)
    ]  # fmt: skip


async def test_entries_that_are_alike_are_found_by_their_words(notes: Notes) -> None:
    for text in ("the boiler was serviced in May", "the boiler was serviced in May by Otto", "tea", "coffee"):
        await notes.put(text)
    await notes.put("the boiler was serviced in May", scope=ANNA)

    pairs = await notes.memory.similar(agent_id="main", scope=OWNER, threshold=0.6)

    assert [(one.text, other.text) for one, other, _ in pairs] == [
        ("the boiler was serviced in May", "the boiler was serviced in May by Otto")
    ]
    assert await notes.memory.similar(agent_id="main", scope=NOBODY, threshold=0.1) == []


async def test_struck_entries_are_not_found(notes: Notes) -> None:
    notes.write("MEMORY.md", "- ~~tea~~\n- coffee\n")

    assert [await notes.found("tea"), await notes.found("coffee"), await notes.found("")] == [[], *[["coffee"]] * 2]


def test_reading_stops_when_the_time_is_over_and_says_so() -> None:
    ticks = iter(range(100))
    texts = [grep.Text(f"memory/{number}.md", "- tea\n") for number in range(50)]

    hits, is_whole = grep.search(texts, terms_of("tea", DAY), NO_FILTERS, DAY, 50, clock=lambda: float(next(ticks)))

    assert is_whole is False
    assert 0 < len(hits) < 50


def test_the_same_question_gets_the_same_answer_in_the_same_order() -> None:
    texts = [grep.Text(f"memory/{name}.md", "- tea\n- tea\n") for name in ("b", "a", "2026-05-01", "2026-05-12")]

    answers = [
        [(hit.path, hit.start_line) for hit in grep.search(order, terms_of("tea", DAY), NO_FILTERS, DAY, 9)[0]]
        for order in (texts, texts[::-1])
    ]

    assert answers[0] == answers[1]
    assert answers[0][:2] == [("memory/2026-05-12.md", 2), ("memory/2026-05-12.md", 1)]


def test_ten_years_of_days_are_read_without_an_index(notes: Notes) -> None:
    for number in range(3_650):
        day = date.fromordinal(DAY.toordinal() - number)
        notes.write(f"memory/{day:%Y-%m-%d}.md", f"# {day}\n\n- we walked by the river {number}\n- bought bread\n" * 3)
    notes.write("memory/2017-03-03.md", "- the dishwasher was mended by Mr Needle 洗碗机修好了\n")

    texts = [grep.Text(path, text) for path, text in MemoryFiles(Root(notes.folder)).texts(("private",))]

    found = [
        grep.search(texts, terms_of(query, DAY), NO_FILTERS, DAY, 6, clock=lambda: 0.0)
        for query in ("who mended the dishwasher?", "洗碗机", "what was on 3 March 2017")
    ]

    assert [(hits[0].path, is_whole) for hits, is_whole in found] == [("memory/2017-03-03.md", True)] * 3


async def test_a_search_does_not_wait_for_a_write(notes: Notes) -> None:
    await notes.put("tea")

    found = await asyncio.gather(*(notes.found("tea") for _ in range(5)), *(notes.put(f"x {n}") for n in range(5)))

    assert found[:5] == [["tea"]] * 5
