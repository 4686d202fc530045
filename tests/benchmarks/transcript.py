"""A conversation of 100 MB: all of it is read, and the last messages alone."""

from __future__ import annotations

import asyncio
import gc
import tempfile
from pathlib import Path
from time import perf_counter

from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.models.contract import Message, Role, TextBlock, ToolCallBlock, Usage, tool_result, user_message
from hub.sessions.entry import Header, encode_line, message_entry
from hub.sessions.keys import main_key
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.storage.migrations import HUB_MIGRATIONS
from tests.benchmarks.table import Row, row
from tests.transcripts import transcript_file

SIZE_BYTES = 100_000_000
OPENED = 5
TAILS = 20
LAST = 200


def measure() -> list[Row]:
    """Open it again and again, each time as the first who asks for it."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Row]:
    home = Home(folder)
    home.create()
    db = Database(home.hub_db, HUB_MIGRATIONS)
    await db.open()
    bus = EventBus(TaskOwner("bench"), Clock().time)
    whole, tails = [], []
    for at in range(OPENED):
        store = SessionStore(db, home, Clock(), bus)
        await store.open()
        session = await store.ensure(main_key("main"))
        path = transcript_file(store, session)
        if not at:
            lines = _write(path, session.session_id)
        for _ in range(TAILS // OPENED):
            begun = perf_counter()
            found = await store.last_messages(session, LAST)
            tails.append((perf_counter() - begun) * 1_000)
        gc.collect()
        begun = perf_counter()
        transcript = await store.open_transcript(session)
        whole.append(perf_counter() - begun)
        if found != transcript.branch()[-LAST:] or len(transcript.entries()) != lines:
            raise AssertionError("the tail is not the end of it")
        await store.close()
        del transcript, found
    await db.close()
    return [
        row(f"a conversation of 100 MB, {lines:,} entries, is opened", "s", whole, "< 1"),
        row(f"its last {LAST} messages are read", "ms", tails, "< 50"),
    ]


def _write(path: Path, session_id: str) -> int:
    """Write turns with a tool until the file is large enough; return the number of entries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parent: str | None = None
    entries = 0
    with path.open("wb") as file:
        file.write(encode_line(Header(session_id, main_key("main")).as_dict()))
        while file.tell() < SIZE_BYTES:
            call = ToolCallBlock(f"c{entries}", "read", {"path": f"notes/{entries}.md"})
            for message in (
                user_message(f"question {entries} " + "and some more of it " * 5),
                Message(Role.ASSISTANT, (TextBlock("I look."), call)),
                tool_result(call, "The cellar was dry and the lamp was on. " * 50),
                Message(Role.ASSISTANT, (TextBlock("an answer of some words " * 20),)),
            ):
                said = message.role is Role.ASSISTANT
                entry = message_entry(
                    message,
                    1_700_000_000_000 + entries,
                    parent_id=parent,
                    run_id=f"run-{entries // 4}",
                    usage=Usage(100, 20) if said else None,
                    model="test/model" if said else None,
                )
                file.write(encode_line(entry.as_dict()))
                parent = entry.id
                entries += 1
    return entries
