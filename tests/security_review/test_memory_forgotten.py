"""What is forgotten is in no file of the home but the conversations it was said in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.memory.contract import Forget
from hub.memory.own_scope import own_scope
from hub.memory.scope import MemoryProvenance
from hub.models.contract import user_message
from hub.sessions.entry import message_entry
from tests.lengths import LONG
from tests.security_review.besieged import SESSION, Besieged, besieged, files_in
from tests.security_review.canaries import house_memory
from tests.security_review.test_laundering import tool_call
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.openai_server import OpenAIServer
from tests.transcripts import transcript_file

SECRET_WORD = "zanzibarquok"
CAUGHT_UP_S = 60.0
STAYS = "The kettle whistles at noon"


def with_word(number: int) -> str:
    return f"The garage code is {SECRET_WORD} {number}"


def holding(home: Path, word: str) -> list[str]:
    """Return the files in which a word stands, in any case, packed or plain."""
    # Full-text indexes leave out how a word begins when the one before it begins so too.
    word = word[3:]
    wanted = [word.encode(), word.encode("utf-16-le")]
    found = []
    for file, data in files_in(home):
        if file.is_symlink():
            continue
        if any(each in data or each in data.lower() for each in wanted) or word.encode() in _unpacked(data):
            found.append(str(file.relative_to(home)))
    return found


def _unpacked(data: bytes) -> bytes:
    """Return what is packed somewhere in a file."""
    found: list[bytes] = []
    at = data.find(b"\x78\x01")
    while at >= 0 and len(found) < 10_000:
        with contextlib.suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(data[at : at + 65_536], 65_536))
        at = data.find(b"\x78\x01", at + 1)
    return b"\n".join(found)


def outside_conversations(found: list[str]) -> list[str]:
    index_of_conversations = ".storage/conversations.db"
    return [each for each in found if "/sessions/" not in each and not each.startswith(index_of_conversations)]


def configuration(keywords: str, vectors: str, url: str) -> str:
    return (
        f"memory:\n  transcripts: true\n  keywords: {keywords}\n  vectors: {vectors}\n"
        f"  embeddings: {{provider: openai, base_url: '{url}', model: test-embed, api_key: k-0123456789}}\n"
    )


OURS, OTHERS = "fts5-exact", "whoosh-chroma"
with_ours = pytest.mark.parametrize("house", [OURS, OTHERS] if LONG else [OURS], indirect=True)
"""What the other engines do with it is tried in a long run; in each one they forget words, while they are away."""


@pytest.fixture(params=[OURS, OTHERS])
async def house(request: pytest.FixtureRequest, tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    keywords, vectors = request.param.split("-")
    if vectors == "chroma":
        pytest.importorskip("chromadb")
        pytest.importorskip("whoosh")
    with EmbeddingServer() as server:
        more = configuration(keywords, vectors, server.base_url)
        async with besieged(tmp_path / "home", openai_server, more=more, remembers=True) as standing:
            yield standing


async def add(house: Besieged, text: str, **more: Any) -> dict[str, Any]:
    added = await house.rpc("memory.add", {"text": text, "idempotencyKey": str(hash(text)), **more})
    assert "path" in added, added
    return dict(added)


async def furnish(house: Besieged) -> None:
    for number in range(3):
        await add(house, with_word(number), kind="preference")
    await add(house, STAYS)
    await house.rpc("memory.index", {"idempotencyKey": "i"})
    found = await house.rpc("memory.search", {"query": SECRET_WORD})
    assert len(found["hits"]) == 3, found
    assert set(found["engines"]) >= {found["engines"][0]}


@with_ours
async def test_what_is_forgotten_by_its_words_is_in_no_file(house: Besieged) -> None:
    home = house.hub.home.path
    await furnish(house)
    assert len(holding(home, SECRET_WORD)) > 1

    forgotten = await house.rpc("memory.forget", {"query": SECRET_WORD, "idempotencyKey": "f"})

    assert forgotten["count"] == 3
    assert await left(house, SECRET_WORD) == []
    assert (await house.rpc("memory.search", {"query": "kettle"}))["hits"][0]["text"] == STAYS
    assert outside_conversations(holding(home, "kettle"))


async def left(house: Besieged, word: str) -> list[str]:
    """Return where a word still stands once the index has caught up."""
    loop = asyncio.get_running_loop()
    until = loop.time() + CAUGHT_UP_S
    while True:
        found = outside_conversations(holding(house.hub.home.path, word))
        if not found or loop.time() > until:
            return found
        await asyncio.sleep(0.1)


async def test_what_is_forgotten_while_there_is_no_worker_is_in_no_file(house: Besieged) -> None:
    await furnish(house)
    status = await house.rpc("memory.status", {})

    os.kill(status["index"]["worker"]["pid"], signal.SIGKILL)
    forgotten = await house.rpc("memory.forget", {"query": SECRET_WORD, "idempotencyKey": "f"})

    assert forgotten["count"] == 3
    assert await left(house, SECRET_WORD) == []


@with_ours
@pytest.mark.parametrize("what", [{"query": SECRET_WORD}, {"session": SESSION}, {"person": "me"}])
async def test_what_is_forgotten_of_a_conversation_is_in_its_transcript_alone(
    house: Besieged, what: dict[str, str]
) -> None:
    session = await house.hub.sessions.ensure(SESSION, person="me")
    said = [message_entry(user_message(text), 1_795_000_000_000) for text in (with_word(0), STAYS)]
    await (await house.hub.sessions.open_transcript(session)).append(said, sync=True)
    await house.rpc("memory.index", {"idempotencyKey": "i"})
    path = f"transcripts/{session.session_id}"
    assert [hit["path"] for hit in (await house.rpc("memory.search", {"query": SECRET_WORD}))["hits"]] == [path]
    assert outside_conversations(holding(house.hub.home.path, SECRET_WORD))

    forgotten = await house.rpc("memory.forget", {**what, "idempotencyKey": "f"})

    assert [hit["path"] for hit in forgotten["forgotten"]] == [path]
    assert await left(house, SECRET_WORD) == []
    transcript = transcript_file(house.hub.sessions, session).relative_to(house.hub.home.path)
    assert str(transcript) in holding(house.hub.home.path, SECRET_WORD)
    found = (await house.rpc("memory.search", {"query": "kettle"}))["hits"]
    assert [hit["text"] for hit in found] == ([STAYS] if "query" in what else [])


@with_ours
async def test_a_whole_file_and_what_was_told_of_it_goes(house: Besieged) -> None:
    memory = house_memory(house)
    scope = own_scope(house.hub.people.owner_authority())
    said = MemoryProvenance("agent:main:webchat:direct:x", "me", house.hub.clock.time(), trusted=True)
    long = f"- {with_word(0)}\n" + "- and so on and on\n" * 5_000
    await memory.notebook.note("some", with_word(1), long, said, agent_id="main", scope=scope)
    assert SECRET_WORD in str(await memory.notebook.changes(agent_id="main", scope=scope))

    await memory.forget(Forget(session="agent:main:webchat:direct:x"), agent_id="main", scope=scope)

    assert await left(house, SECRET_WORD) == []


@with_ours
async def test_what_was_edited_and_undone_and_imported_goes_too(house: Besieged) -> None:
    await furnish(house)
    read = await house.rpc("memory.read", {"path": "MEMORY.md"})
    edit = {"path": "MEMORY.md", "text": read["text"].replace("garage", "cellar"), "base_hash": read["hash"]}
    change = await house.rpc("memory.write", {"edits": [edit], "summary": SECRET_WORD, "idempotencyKey": "w"})
    await house.rpc("memory.undo", {"id": change["id"], "idempotencyKey": "u"})
    files = {"a.md": f"# A\n\n- {with_word(7)}\n"}
    await house.rpc("memory.import", {"files": files, "origin": "other", "idempotencyKey": "im"})

    forgotten = await house.rpc("memory.forget", {"query": SECRET_WORD, "idempotencyKey": "f"})

    assert forgotten["count"] == 4
    assert await left(house, SECRET_WORD) == []
    assert not any(each["can_undo"] for each in (await house.rpc("memory.changes", {}))["changes"][1:4])


@pytest.mark.parametrize("query", [SECRET_WORD, "nothing of the kind"])
async def test_what_was_forgotten_in_a_conversation_stands_in_no_note_of_it(
    tmp_path: Path, openai_server: OpenAIServer, query: str
) -> None:
    async with besieged(tmp_path / "home", openai_server, remembers=True) as house:
        openai_server.queue(tool_call("remember", text=with_word(1)), "noted", tool_call("forget", query=query))
        openai_server.queue(f"I have forgotten {with_word(1)}", "I see", "{}", "{}")
        for text in (f"Remember: {with_word(1)}", f"Forget {SECRET_WORD}, please", "The kettle whistles at noon"):
            await house.run(text)

        path = await house.hub.remembering.flush.flush(SESSION)

        assert path is not None
        assert "kettle" in (house.workspace / path).read_text()
        assert SECRET_WORD not in (house.workspace / path).read_text()
        assert SECRET_WORD not in str(openai_server.requests()[-1]["body"])


@pytest.mark.parametrize("what", [{"query": SECRET_WORD}, {"session": SESSION}])
async def test_what_was_forgotten_of_a_conversation_alone_stands_in_no_note_of_it(
    tmp_path: Path, openai_server: OpenAIServer, what: dict[str, str]
) -> None:
    searched = "memory: {embeddings: {provider: none}, transcripts: true}\n"
    async with besieged(tmp_path / "home", openai_server, more=searched, remembers=True) as house:
        openai_server.queue("I see", "I see", "{}", "{}")
        await house.run(f"By the way: {with_word(1)}")
        assert (await house.rpc("memory.forget", {**what, "idempotencyKey": "f"}))["count"] == 1
        await house.run("The kettle whistles at noon")

        path = await house.hub.remembering.flush.flush(SESSION)

        noted = "" if path is None else (house.workspace / path).read_text()
        assert SECRET_WORD not in noted
        assert ("kettle" in noted) is ("query" in what)


async def test_what_was_forgotten_elsewhere_stands_in_no_note_of_a_conversation_before(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    async with besieged(tmp_path / "home", openai_server, remembers=True) as house:
        openai_server.queue(tool_call("remember", text=with_word(1)), f"noted {with_word(1)}", "I see", "{}", "{}")
        await house.run(f"Remember: {with_word(1)}")
        assert (await house.rpc("memory.forget", {"query": SECRET_WORD, "idempotencyKey": "f"}))["count"] == 1
        await house.run("The kettle whistles at noon")

        path = await house.hub.remembering.flush.flush(SESSION)

        assert path is not None
        assert "kettle" in (house.workspace / path).read_text()
        assert SECRET_WORD not in (house.workspace / path).read_text()
        assert SECRET_WORD not in str(openai_server.requests()[-1]["body"])


@with_ours
async def test_no_answer_that_is_kept_for_repeats_holds_words_of_memory(house: Besieged) -> None:
    """A retry learns that it was done, and where; the words are in memory, as long as they are."""
    added = await add(house, with_word(0))

    again = await add(house, with_word(0))

    assert added["text"] == with_word(0)
    assert again == added | {"text": ""}
    acting = [method for method in house.hub.gateway.methods if method.name.startswith("memory.") and method.acts]
    assert "memory.add" in [method.name for method in acting]
    assert [method.name for method in acting if method.kept is None] == []
