"""A home is carried to PostgreSQL and back: rows, and transcripts that are files on one side and rows on the other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub.core.errors import HubError
from hub.models.contract import user_message
from hub.sessions.entry import Header, message_entry
from hub.sessions.transcript_moving import carry
from hub.sessions.transcript_store import TranscriptFiles
from hub.sessions.transcript_table import TranscriptTable
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from hub.storage.moving import HomeMoved, refuse_moved
from hub.storage.postgresql.database import PostgresqlDatabase
from hub.storage.postgresql.session import Target
from tests.servers.postgresql import PostgresqlServer
from tests.storage.test_moving import fill

KEY = "agent:main:main"


class Moved:
    """A home with two transcripts and a deleted one, and an empty database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.home = Home(folder)
        self.home.create()
        self.url = url

    def here(self) -> Database:
        return Database(self.home.hub_db, HUB_MIGRATIONS)

    def there(self) -> PostgresqlDatabase:
        return PostgresqlDatabase(Target.from_url(self.url, "elm"), HUB_MIGRATIONS, self.home.hub_db)

    async def fill(self) -> None:
        files, db = TranscriptFiles(self.home), self.here()
        await db.open()
        await db.write(fill)
        await db.write(lambda connection: connection.execute("DELETE FROM transcript").rowcount)
        await db.close()
        for id, key in (("gone", "agent:main:direct:x"), ("one", KEY), ("two", KEY)):
            transcript = await files.open("main", Header(id, key), None)
            await transcript.append([message_entry(user_message(f"{word} 你好"), 1) for word in ("hi", "there")])
            transcript.close()
        await files.put_away("main", "agent:main:direct:x", lambda: "gone")

    def files(self) -> dict[str, bytes]:
        paths = self.home.agents.rglob("*.jsonl")
        return {str(path.relative_to(self.home.agents)): path.read_bytes() for path in paths}

    def put(self, name: str, data: bytes) -> None:
        path = self.home.storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def small_files(self) -> dict[str, bytes]:
        paths = (path for path in self.home.storage.rglob("*.json*") if "sessions" not in path.parts)
        return {path.relative_to(self.home.storage).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
async def moved(tmp_path: Path, server: PostgresqlServer, name: str) -> Moved:
    moved = Moved(tmp_path / "home", server.url(name))
    await moved.fill()
    return moved


async def test_a_home_goes_there_lives_on_and_comes_back(moved: Moved) -> None:
    files = moved.files()

    told = await carry(moved.home, moved.here(), moved.there())
    there = moved.there()
    await there.open()
    await refuse_moved(there)
    table = TranscriptTable(there)
    transcript = await table.open("main", Header("one", KEY), None)
    await transcript.append(message_entry(user_message("and on"), 2))
    known = await table.agents_by_id()
    await there.close()
    back = await carry(moved.home, moved.there(), moved.here())

    assert (told["transcripts"], back["transcripts"], known) == (3, 3, {"one": "main", "two": "main"})
    after = moved.files()
    grown = after.pop("main/sessions/one.jsonl")
    assert grown.startswith(files.pop("main/sessions/one.jsonl"))
    assert grown.count(b"\n") == 4
    assert after == files
    there = moved.there()
    await there.open()
    with pytest.raises(HomeMoved, match=r"hub\.db"):
        await refuse_moved(there)
    await there.close()


async def test_small_files_go_along_and_what_was_deleted_there_does_not_come_back(moved: Moved) -> None:
    for name, data in (
        ("home_registry.json", b'{"version": 1, "data": {}}'),
        ("integrations/matrix/login-me.json", b"\xff damaged"),
        ("feeds/a.json", b"1"),
        ("feeds/b.json", b"2"),
        ("skills.json.damaged-20261201T000000", b"{"),
        ("update.json", b"of this machine"),
        ("integrations/home_assistant/provides.json", b"made again"),
    ):
        moved.put(name, data)
    before = moved.small_files()

    told = await carry(moved.home, moved.here(), moved.there())
    there = moved.there()
    await there.open()
    feeds = moved.home.storage / "feeds"
    carried = there.documents.read(feeds / "b.json", 9)
    await asyncio.to_thread(there.documents.write, feeds / "b.json", b"3")
    await asyncio.to_thread(there.documents.prune, feeds, 1)
    await there.close()
    back = await carry(moved.home, moved.there(), moved.here())

    assert (told["documents"], back["documents"], carried) == (5, 4, b"2")
    del before["feeds/a.json"]
    assert moved.small_files() == {**before, "feeds/b.json": b"3"}


async def test_what_was_deleted_there_comes_back_as_it_was_last(moved: Moved) -> None:
    await carry(moved.home, moved.here(), moved.there())
    there = moved.there()
    await there.open()
    transcript = await TranscriptTable(there).open("main", Header("two", KEY), None)
    await transcript.append(message_entry(user_message("and on"), 2))
    put_away = "UPDATE transcripts SET put_away = 1 WHERE session_id = 'two'"
    await there.write(lambda connection: connection.execute(put_away).rowcount)
    await there.close()

    await carry(moved.home, moved.there(), moved.here())

    after = moved.files()
    assert sorted(after) == [f"main/sessions/{name}.jsonl" for name in ("deleted/gone", "deleted/two", "one")]
    assert after["main/sessions/deleted/two.jsonl"].count(b"\n") == 4


async def test_a_transcript_that_went_on_after_it_was_deleted_arrives_whole(moved: Moved) -> None:
    late = await TranscriptFiles(moved.home).open("main", Header("gone", "agent:main:direct:x"), None)
    await late.append(message_entry(user_message("last words"), 2))
    late.close()

    told = await carry(moved.home, moved.here(), moved.there())

    there = moved.there()
    await there.open()
    select = "SELECT count(*) FROM transcript WHERE session_id = 'gone'"
    kept = await there.read(lambda connection: connection.execute(select).fetchone()[0])
    await there.close()
    assert (told["transcripts"], kept) == (3, 3)


async def test_one_that_is_cut_off_leaves_the_home_where_it_was(moved: Moved) -> None:
    files = moved.files()
    broken = moved.home.sessions("main") / "two.jsonl"
    broken.unlink()
    broken.mkdir()  # cannot be read as a file

    with pytest.raises((HubError, OSError)):
        await carry(moved.home, moved.here(), moved.there())

    here, there = moved.here(), moved.there()
    await here.open()
    await there.open()
    await refuse_moved(here)
    with pytest.raises(HomeMoved, match="cut off"):
        await refuse_moved(there)
    await here.close()
    await there.close()
    broken.rmdir()
    broken.write_bytes(files["main/sessions/two.jsonl"])
    assert (await carry(moved.home, moved.here(), moved.there()))["transcripts"] == 3
