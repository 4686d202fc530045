"""What is forgotten of conversations is never again found, read or listed, and the transcripts stay as they are."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from hub.core.errors import Forbidden, InvalidRequest, LimitExceeded, NotFound, Unavailable
from hub.memory.contract import Forget
from hub.memory.scope import MemoryScope
from hub.models.contract import Role
from hub.security.people import People
from hub.sessions.privacy import scope_of
from integrations.memory.notes.files.omissions import SIZE_LIMIT_BYTES
from tests.integrations.memory.notes_house import ANNA, BEN, NOBODY
from tests.integrations.memory.talking_house import ANNAS, MAIN, PEOPLE, ROOM, Talking, talking
from tests.servers.embedding_server import EmbeddingServer

OTHER = "agent:main:telegram:direct:1"
STRANGERS = "agent:main:telegram:direct:9"


def room() -> MemoryScope:
    people = People.from_config(PEOPLE)
    return scope_of(ROOM, people.owner_authority(), people)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Talking]:
    async with talking(tmp_path) as standing:
        yield standing


async def test_words_leave_out_what_was_said_with_them_and_nothing_else(house: Talking) -> None:
    path = await house.say(MAIN, "The alarm code is zanzibar")
    await house.say(MAIN, "So it is zanzibar, the code of the alarm.", role=Role.ASSISTANT)
    await house.say(MAIN, "The kettle whistles, and zanzibar is an island")
    before = house.transcript(path).read_bytes()
    assert "code is zanzibar" in await house.found("alarm code zanzibar")

    would_go = await house.forget(Forget("alarm code zanzibar"), dry_run=True)
    still = await house.found("alarm code zanzibar")
    gone = await house.forget(Forget("alarm code zanzibar"))

    assert would_go == gone
    assert "code is zanzibar" in still
    assert [(hit.path, hit.start_line, hit.text) for hit in gone] == [
        (path, 2, "The alarm code is zanzibar"),
        (path, 3, "So it is zanzibar, the code of the alarm."),
    ]
    assert await house.found("alarm code zanzibar") == "The kettle whistles, and zanzibar is an island"
    assert await house.read(path) == "\n\n\nuser: The kettle whistles, and zanzibar is an island\n"
    assert house.transcript(path).read_bytes() == before
    assert await house.forget(Forget("alarm code zanzibar"), dry_run=True) == []


async def test_a_session_leaves_out_all_of_its_conversation_and_a_new_beginning_is_another(house: Talking) -> None:
    path = await house.say(MAIN, "The submarine is in the harbour")
    other = await house.say(OTHER, "My submarine is yellow")
    await house.add("The submarine has a crew")

    gone = await house.forget(Forget(session=MAIN))
    await house.say(MAIN, "The submarine has left")
    during = await house.found("submarine")
    await house.sessions.reset(MAIN)
    await house.say(MAIN, "The submarine is back")

    assert [(hit.path, hit.start_line, hit.text) for hit in gone][1:] == [
        (path, 1, "user: The submarine is in the harbour")
    ]
    assert gone[0].text == "The submarine has a crew"
    assert during == "My submarine is yellow"
    assert sorted((await house.found("submarine")).splitlines()) == ["My submarine is yellow", "The submarine is back"]
    with pytest.raises(NotFound):
        await house.read(path)
    assert path not in await house.listed()
    assert other in await house.listed()


async def test_a_person_leaves_out_their_conversations_and_what_they_said_where_others_speak(house: Talking) -> None:
    own = await house.say(ANNAS, "canary of anna", whose="anna")
    await house.say(ANNAS, "canary of the assistant", whose="anna", role=Role.ASSISTANT)
    group = await house.say(ROOM, "canary of anna in the room", by="anna")
    await house.say(ROOM, "canary of ben in the room", by="ben")
    await house.say(MAIN, "canary of the owner")

    gone = await house.forget(Forget(person="anna"))

    assert sorted((hit.path, hit.start_line, hit.text) for hit in gone) == sorted([(own, 1, ""), (group, 2, "")])
    assert await house.found("canary", ANNA) == ""
    assert await house.found("canary", room()) == "canary of ben in the room"
    assert await house.read(group, room()) == "\n\nuser: canary of ben in the room\n"
    assert await house.found("canary") == "canary of the owner"


async def test_all_that_is_given_must_hold(house: Talking) -> None:
    for key in (MAIN, OTHER):
        await house.say(key, "tea with milk")
        await house.say(key, "coffee with milk")

    gone = await house.forget(Forget("tea", session=OTHER, person="me"))
    none = await house.forget(Forget("coffee", session=OTHER, person="anna"))

    assert [(hit.session, hit.text) for hit in gone] == [(OTHER, "tea with milk")]
    assert none == []
    assert sorted((await house.found("milk")).splitlines()) == ["coffee with milk", "coffee with milk", "tea with milk"]


async def test_words_tell_nothing_of_conversations_that_are_not_seen(house: Talking) -> None:
    await house.say(ANNAS, "canary of anna", whose="anna")
    await house.say(ROOM, "canary of the room", by="anna")

    assert await house.forget(Forget("canary")) == []
    assert await house.forget(Forget("canary", person="anna")) == []
    assert await house.forget(Forget("canary", session=ANNAS)) == []
    assert await house.found("canary", ANNA) == "canary of anna"


async def test_others_forget_only_of_their_own(house: Talking) -> None:
    await house.say(MAIN, "canary of the owner, who spoke of anna", by="anna")
    await house.say(ROOM, "canary of anna in the room", by="anna")
    own = await house.say(ANNAS, "canary of anna", whose="anna")

    gone = await house.forget(Forget(person="anna"), ANNA)
    nothing = [
        await house.forget(what, BEN) for what in (Forget(person="anna"), Forget(session=MAIN), Forget("canary"))
    ]
    of_main = await house.forget(Forget(session=MAIN), ANNA)
    of_room = await house.forget(Forget("canary"), room())

    assert [(hit.path, hit.text) for hit in gone] == [(own, "user: canary of anna")]
    assert (nothing, of_main) == ([[], [], []], [])
    assert [hit.text for hit in of_room] == ["canary of anna in the room"]
    assert "owner" in await house.found("canary")
    with pytest.raises(Forbidden):
        await house.forget(Forget(session=MAIN), NOBODY)


async def test_a_conversation_that_is_nobodys_yet_can_be_forgotten_before_it_is_somebodys(house: Talking) -> None:
    path = await house.say(STRANGERS, "canary of a stranger", whose="gone")

    (hit,) = await house.forget(Forget(session=STRANGERS))

    assert (hit.path, hit.text) == (path, "")
    assert orjson.loads(house.omissions_file.read_bytes())["whole"] == [path.removeprefix("transcripts/")]


async def test_entries_and_what_was_said_count_together_under_one_limit(house: Talking) -> None:
    for number in range(4):
        await house.say(MAIN, f"The boiler is loud, {number}")
    await house.say(MAIN, "The boiler says buy now", outside=True)
    await house.add("The boiler is loud")

    with pytest.raises(InvalidRequest, match=r"^6 entries match, and nothing was forgotten") as refused:
        await house.forget(Forget("boiler"))

    assert "buy now" not in refused.value.message
    assert (await house.found("boiler")).count("loud") == 5
    assert len(await house.forget(Forget("boiler", session=MAIN))) == 6


async def test_what_is_left_out_stays_out_whatever_becomes_of_the_index_and_of_the_hub(house: Talking) -> None:
    path = await house.say(MAIN, "The alarm code is zanzibar")
    await house.say(MAIN, "The kettle whistles")
    whole = await house.say(OTHER, "zanzibar once more")
    await house.found("zanzibar")
    await house.forget(Forget("alarm zanzibar"))
    await house.forget(Forget(session=OTHER))

    await house.memory.sync(agent_id="main", force=True)
    after_force = await house.found("zanzibar kettle")
    await house.close()
    await house.open()
    after_restart = await house.found("zanzibar kettle")
    await house.close()
    shutil.rmtree(house.index)
    await house.open()
    after_loss = await house.found("zanzibar kettle")

    assert after_force == after_restart == after_loss == "The kettle whistles"
    assert (await house.memory.verify(agent_id="main")).problems == []
    assert "zanzibar" not in await house.read(path)
    assert whole not in await house.listed()


async def test_an_edit_of_the_transcript_brings_nothing_back(house: Talking) -> None:
    path = await house.say(MAIN, "The kettle whistles")
    await house.say(MAIN, "The alarm code is zanzibar")
    await house.forget(Forget("zanzibar"))
    file = house.transcript(path)
    header, kettle, code, _ = file.read_bytes().split(b"\n")

    file.write_bytes(b"\n".join([header, b"", code, kettle, code, b'{"type": "event"}', b""]))
    await house.say(MAIN, "The cat sleeps")

    assert "zanzibar" not in await house.found("zanzibar kettle cat")
    assert "The cat sleeps" in await house.found("cat")
    assert await house.read(path) == "\n\n\nuser: The kettle whistles\n\n\nuser: The cat sleeps\n"


async def test_nothing_of_what_is_forgotten_is_kept_beside_the_transcript(house: Talking) -> None:
    path = await house.say(MAIN, "The alarm code is zanzibarquok")
    await house.found("zanzibarquok")

    await house.forget(Forget("zanzibarquok"))

    holding = [file for file in house.home.path.rglob("*") if file.is_file() and b"zanzibarquok" in file.read_bytes()]
    assert holding == [house.transcript(path)]
    stored = orjson.loads(house.omissions_file.read_bytes())
    assert stored == {"version": 1, "whole": [], "entries": {path.removeprefix("transcripts/"): ["run1-user"]}}
    assert house.omissions_file.stat().st_mode & 0o777 == 0o600


async def test_vectors_of_what_is_forgotten_go_and_others_stay(tmp_path: Path) -> None:
    with EmbeddingServer() as server:
        section = {"embeddings": {"provider": "openai", "base_url": server.base_url, "model": "words"}}
        async with talking(tmp_path, **section) as house:
            await house.say(MAIN, "The alarm code is zanzibar")
            await house.say(OTHER, "The kettle whistles")
            await house.found("zanzibar")
            await house.say(MAIN, "Noted", role=Role.ASSISTANT)
            await house.found("zanzibar")
            await house.say(MAIN, "The cat sleeps")
            await house.found("zanzibar")
            before = vectors_in(house)

            await house.forget(Forget("zanzibar"))
            after = vectors_in(house)
            await house.forget(Forget(session=OTHER))

            # The passage with the code in it was another one each time that more was said; what is left of it is one.
            assert (before, after, vectors_in(house)) == (4, 2, 1)


def vectors_in(house: Talking) -> int:
    with sqlite3.connect(house.index / "embeddings.db") as connection:
        return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])


async def test_where_conversations_are_not_searched_nothing_is_left_out_of_them(tmp_path: Path) -> None:
    async with talking(tmp_path, transcripts=False) as house:
        await house.say(MAIN, "The alarm code is zanzibar")

        assert await house.forget(Forget("zanzibar")) == []
        assert await house.forget(Forget(session=MAIN)) == []
        assert not house.omissions_file.exists()


@pytest.mark.parametrize(
    "stored",
    [b"{torn", b"[]", b'{"version": 2, "whole": [], "entries": {}}', b'{"version": 1, "whole": [1], "entries": {}}',
     b'{"version": 1, "whole": [], "entries": {"a": "b"}}', b" " * (SIZE_LIMIT_BYTES + 1)],
)  # fmt: skip
async def test_when_it_is_not_known_what_was_forgotten_no_conversation_is_shown(house: Talking, stored: bytes) -> None:
    path = await house.say(MAIN, "The alarm code is zanzibar")
    await house.add("zanzibar is an island")
    await house.found("zanzibar")
    await house.close()
    house.omissions_file.write_bytes(stored)

    await house.open()

    assert await house.found("zanzibar") == "zanzibar is an island"
    assert await house.listed() == ["memory/2026-05-12.md"]
    with pytest.raises(NotFound):
        await house.read(path)
    assert str(house.omissions_file) in (await house.memory.status(agent_id="main"))["problem"]
    with pytest.raises(Unavailable, match="cannot be read"):
        await house.forget(Forget("zanzibar"))
    assert await house.found("zanzibar") == "zanzibar is an island"
    assert house.omissions_file.read_bytes() == stored


async def test_too_much_left_out_singly_is_refused_before_anything_is_forgotten(house: Talking) -> None:
    await house.say(MAIN, "The alarm code is zanzibar")
    await house.close()
    house.omissions_file.write_bytes(orjson.dumps({"version": 1, "whole": [], "entries": {"x": ["y"]}}))
    room = SIZE_LIMIT_BYTES - house.omissions_file.stat().st_size
    full = orjson.dumps({"version": 1, "whole": [], "entries": {"x": ["y" * (room - 10)]}})
    house.omissions_file.write_bytes(full)
    await house.open()
    await house.add("zanzibar is an island")

    with pytest.raises(LimitExceeded, match="whole"):
        await house.forget(Forget("zanzibar"))

    assert house.omissions_file.read_bytes() == full
    assert "island" in await house.found("zanzibar")


async def test_what_has_no_id_could_not_be_left_out_and_is_not_shown(house: Talking) -> None:
    path = await house.say(MAIN, "The kettle whistles")
    file = house.transcript(path)
    _, kettle, _ = file.read_bytes().split(b"\n")
    lines = []
    for id_ in (None, "", 7, ["a"]):
        lines.append(orjson.dumps({**orjson.loads(kettle), "id": id_}).replace(b"kettle", b"zanzibar"))
    file.write_bytes(file.read_bytes() + b"\n".join(lines) + b"\n")

    assert "zanzibar" not in await house.found("zanzibar kettle")
    assert "zanzibar" not in await house.read(path)
