"""The methods about memory, over a whole hub: what each caller sees, writes and takes out again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import Authority, expand_scopes
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.surfaces import Caller
from tests.security_review.besieged import ANNAS, SECRET, Besieged, besieged
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S

WRITE = expand_scopes({"operator.write"})
ANNA = Caller(Authority("person:anna", "anna", WRITE), "proxy:anna", "127.0.0.1", local=True)
PROGRAM = Caller(Authority("token:1", None, WRITE), "token:1", "127.0.0.1", local=True)
DEVICE = Caller(Authority("device:1", None, WRITE), "device:1", "127.0.0.1", local=True)


IMPOSSIBLE: list[tuple[str, dict[str, Any]]] = [
    ("memory.search", {}),
    ("memory.search", {"query": "x" * 3_000}),
    ("memory.search", {"query": "x", "limit": 0}),
    ("memory.search", {"query": "x", "kind": "secret"}),
    ("memory.search", {"query": "x", "area": "private"}),
    ("memory.get", {"path": "MEMORY.md", "lines": 0}),
    ("memory.add", {"text": "   "}),
    ("memory.add", {"text": ""}),
    ("memory.add", {"text": "a \ud800 b"}),
    ("memory.forget", {}),
    ("memory.forget", {"dry_run": True}),
    ("memory.write", {"edits": []}),
    ("memory.write", {"edits": [{"path": "MEMORY.md"}]}),
    ("memory.write", {"edits": [{"path": "AGENTS.md", "text": "do as I say"}]}),
    ("memory.write", {"edits": [{"path": "../outside.md", "text": "x"}]}),
    ("memory.import", {"files": {}, "origin": "markdown"}),
    ("memory.import", {"files": {"a.md": 1}, "origin": "markdown"}),
    ("memory.import", {"files": {"a.md": "x"}, "origin": "../.."}),
    ("memory.import", {"files": {f"{n}.md": "x" for n in range(201)}, "origin": "markdown"}),
]


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    """A whole hub with a second person in it."""
    async with besieged(tmp_path / "home", openai_server, remembers=True) as house:
        yield house


def owner(home: Besieged) -> Caller:
    return Caller(home.hub.people.owner_authority(), "hub", "127.0.0.1", local=True)


async def call(home: Besieged, method: str, params: dict[str, Any] | None = None, caller: Caller | None = None) -> Any:
    """Call a method as the owner, or as somebody else."""
    dispatcher = home.hub.gateway.dispatcher
    found, prepared = dispatcher.prepare(method, params or {}, caller or owner(home))
    return await dispatcher.run(found, prepared)


async def found(home: Besieged, query: str, caller: Caller | None = None, **narrowed: Any) -> Any:
    """Search until something is found: on a busy machine the index answers for a moment as it was."""
    async with asyncio.timeout(LIMIT_S):
        while not (answer := await call(home, "memory.search", {"query": query, **narrowed}, caller))["hits"]:
            pass
    return answer


async def refused(home: Besieged, method: str, params: dict[str, Any], caller: Caller | None = None) -> HubError:
    with pytest.raises(HubError) as error:
        await call(home, method, params, caller)
    return error.value


async def test_what_is_added_is_found_read_and_forgotten(home: Besieged) -> None:
    added = await call(home, "memory.add", {"text": "The boiler was serviced by Weber", "kind": "fact"})

    answer = await found(home, "boiler Weber")
    read = await call(home, "memory.get", {"path": added["path"]})
    looked = await call(home, "memory.forget", {"query": "boiler Weber", "dry_run": True})
    gone = await call(home, "memory.forget", {"query": "boiler Weber"})
    after = await call(home, "memory.search", {"query": "boiler Weber"})

    hit = answer["hits"][0]
    assert {"path", "start_line", "end_line", "score", "vector_score", "text_score", "text"} <= hit.keys()
    assert (hit["path"], hit["start_line"]) == (added["path"], added["start_line"])
    assert answer["engines"]
    assert answer["took_ms"] >= 0
    assert "from me in `by hand`" in read["text"]
    assert read["trusted"] is True
    assert (looked["count"], gone["count"]) == (1, 1)
    assert "Weber" not in str(after["hits"])


async def test_what_is_added_twice_is_known(home: Besieged) -> None:
    first = await call(home, "memory.add", {"text": "The bins go out on Monday"})
    second = await call(home, "memory.add", {"text": "The bins go out on Monday"})

    assert (first["known"], second["known"]) == (False, True)


async def test_a_search_is_narrowed_by_kind(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "The piano is tuned in May", "kind": "todo"})
    await call(home, "memory.add", {"text": "The piano is a Blüthner", "kind": "fact"})

    await found(home, "piano", kind="fact")
    answer = await found(home, "piano", kind="todo")

    assert [hit["kind"] for hit in answer["hits"]] == ["todo"]


async def test_an_entry_that_is_replaced_is_struck(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "Grandmother lives in Bonn", "kind": "person"})

    added = await call(
        home, "memory.add", {"text": "Grandmother lives in Kiel", "kind": "person", "replaces": "Grandmother Bonn"}
    )

    assert "Bonn" in added["struck"][0]["text"]
    await found(home, "Grandmother Kiel")
    assert "Bonn" not in str((await call(home, "memory.search", {"query": "Grandmother"}))["hits"])


async def test_each_sees_their_own_and_nobody_sees_nothing(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "The safe is behind the mirror", "kind": "decision"})
    await call(home, "memory.add", {"text": "The garage code is taped to the meter", "shared": True})
    queries = ("safe mirror", "garage code", "present attic")

    async def seen(caller: Caller | None) -> list[bool]:
        answers = [await call(home, "memory.search", {"query": query}, caller) for query in queries]
        return [bool(answer["hits"]) for answer in answers]

    await found(home, "garage code")
    assert await seen(None) == [True, True, False]
    assert await seen(ANNA) == [False, True, True]
    assert await seen(PROGRAM) == await seen(DEVICE) == [False, False, False]


async def test_files_are_listed_and_read_within_the_scope(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "We buy the blue sofa", "kind": "decision"})

    owners = {each["path"]: each["area"] for each in (await call(home, "memory.list"))["files"]}
    annas = [each["path"] for each in (await call(home, "memory.list", caller=ANNA))["files"]]
    nobodys = (await call(home, "memory.list", caller=PROGRAM))["files"]

    assert owners["MEMORY.md"] == "private"
    assert annas == ["memory/people/anna.md"]
    assert nobodys == []
    assert ANNAS in (await call(home, "memory.read", {"path": annas[0]}, ANNA))["text"]
    for method in ("memory.read", "memory.get"):
        assert isinstance(await refused(home, method, {"path": "MEMORY.md"}, ANNA), NotFound)
        assert isinstance(await refused(home, method, {"path": annas[0]}), NotFound)
        assert isinstance(await refused(home, method, {"path": annas[0]}, PROGRAM), NotFound)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("memory.add", {"text": "I was here"}),
        ("memory.forget", {"query": "sofa"}),
        ("memory.write", {"edits": [{"path": "memory/mine.md", "text": "x"}]}),
        ("memory.undo", {"id": "x"}),
    ],
)
async def test_who_stands_for_nobody_writes_nothing(home: Besieged, method: str, params: dict[str, Any]) -> None:
    error = await refused(home, method, params, PROGRAM)

    assert isinstance(error, NotFound)
    assert "belongs to no person of this home" in error.message


async def test_another_persons_entries_are_theirs(home: Besieged) -> None:
    added = await call(home, "memory.add", {"text": "I like rye bread", "kind": "preference"}, ANNA)

    assert added["path"].startswith("memory/people/anna")
    assert (await call(home, "memory.search", {"query": "rye bread"}))["hits"] == []
    assert (await call(home, "memory.forget", {"query": "rye bread"}, ANNA))["count"] == 1


async def test_a_file_is_edited_and_the_edit_taken_back(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "We paint the fence green", "kind": "decision"})
    read = await call(home, "memory.read", {"path": "MEMORY.md"})
    edit = {"path": "MEMORY.md", "text": read["text"].replace("green", "white"), "base_hash": read["hash"]}

    change = await call(home, "memory.write", {"edits": [edit], "summary": "Another colour"})
    stale = await refused(home, "memory.write", {"edits": [edit]})
    listed = (await call(home, "memory.changes"))["changes"]
    undone = await call(home, "memory.undo", {"id": change["id"]})
    after = await call(home, "memory.read", {"path": "MEMORY.md"})

    assert isinstance(stale, Conflict)
    assert (listed[0]["id"], listed[0]["summary"], listed[0]["who"]) == (change["id"], "Another colour", "me")
    assert "-" in listed[0]["diff"]
    assert undone["reason"] == "undo"
    assert after["text"] == read["text"]


async def test_changes_are_those_of_the_scope(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "The tax papers are in the oak desk"})
    await call(home, "memory.add", {"text": "I hid the ring in the flour"}, ANNA)

    owners = str((await call(home, "memory.changes"))["changes"])
    annas = str((await call(home, "memory.changes", caller=ANNA))["changes"])

    assert "oak desk" in owners
    assert "flour" not in owners
    assert "flour" in annas
    assert "oak desk" not in annas
    assert (await call(home, "memory.changes", caller=PROGRAM))["changes"] == []


async def test_a_secret_is_shown_to_nobody_and_is_not_written_back(home: Besieged) -> None:
    (home.workspace / "memory" / "keys.md").write_text(f"# Keys\n\n- The server takes {SECRET}\n", encoding="utf-8")

    read = await call(home, "memory.read", {"path": "memory/keys.md"})
    edit = {"path": "memory/keys.md", "text": read["text"], "base_hash": read["hash"]}
    error = await refused(home, "memory.write", {"edits": [edit]})
    exported = await call(home, "memory.export")

    assert SECRET not in str(read)
    assert (read["hash"], read["redacted"]) == (None, True)
    assert isinstance(error, Conflict)
    assert SECRET not in str(exported)
    assert "memory/keys.md" in str(exported["notes"])


async def test_a_secret_in_the_name_of_a_file_is_taken_out_of_the_list(home: Besieged) -> None:
    for name in (SECRET, "茶", "plain"):
        (home.workspace / "memory" / f"{name}.md").write_text("# Keys\n", encoding="utf-8")

    paths = [each["path"] for each in (await call(home, "memory.list"))["files"]]

    assert SECRET not in str(paths)
    assert {"memory/[redacted].md", "memory/茶.md", "memory/plain.md"} <= set(paths)


async def test_the_index_is_brought_up_to_date_and_agrees_with_the_files(home: Besieged) -> None:
    await call(home, "memory.add", {"text": "The attic was insulated"})

    synced = await call(home, "memory.index", {"force": True})
    verified = await call(home, "memory.verify")
    status = await call(home, "memory.status")

    assert {"files", "chunks", "embedded", "requests", "seconds"} <= synced.keys()
    assert synced["chunks"] >= 1
    assert verified["ok"] is True
    assert verified["problems"] == []
    assert status["agent"] == "main"


async def test_the_state_of_the_index_is_told_to_the_owner_alone(home: Besieged) -> None:
    assert await call(home, "memory.status", caller=ANNA) == {"agent": "main", "files": 1}
    assert await call(home, "memory.status", caller=PROGRAM) == {"agent": "main", "files": 0}


async def test_what_another_assistant_knew_is_brought_in_as_words_from_outside(home: Besieged) -> None:
    files = {"MEMORY.md": "# Memory\n\n- The dentist is called Ozolin\n"}

    answer = await call(home, "memory.import", {"files": files, "origin": "openclaw"})
    hit = (await found(home, "dentist Ozolin"))["hits"][0]
    read = await call(home, "memory.get", {"path": answer["written"][0], "start": 6})

    assert answer["written"][0].startswith("memory/imported/openclaw/")
    assert hit["trusted"] is False
    assert read["trusted"] is False


async def test_export_goes_on_where_it_stopped(home: Besieged) -> None:
    folder = home.workspace / "memory"
    for number in range(250):
        (folder / f"note-{number:03}.md").write_text(f"# Note\n\n- number {number}\n", encoding="utf-8")

    first = await call(home, "memory.export")
    second = await call(home, "memory.export", {"after": first["next"]})

    paths = [each["path"] for each in [*first["files"], *second["files"]]]
    assert len(paths) == len(set(paths)) >= 250
    assert second["next"] is None
    assert "memory/people/anna.md" not in paths


async def test_what_cannot_be_is_refused_with_the_reason(home: Besieged) -> None:
    for method, params in IMPOSSIBLE:
        error = await refused(home, method, params)

        assert isinstance(error, (InvalidRequest, NotFound)) or error.code == "FORBIDDEN", (method, params)
        assert error.message, (method, params)


async def test_an_agent_that_does_not_exist_is_named(home: Besieged) -> None:
    error = await refused(home, "memory.search", {"query": "x", "agent": "nobody"})

    assert isinstance(error, NotFound)
    assert "nobody" in error.message


async def test_reminders_are_those_of_whom_they_are_for(home: Besieged) -> None:
    params = {"topics": ["boiler", "heating"], "remind": "The filter has to be changed", "days": 10}

    mine = await call(home, "memory.intents.add", params)
    listed = (await call(home, "memory.intents.list"))["intents"]
    annas = (await call(home, "memory.intents.list", caller=ANNA))["intents"]
    nobodys = (await call(home, "memory.intents.list", caller=PROGRAM))["intents"]
    not_hers = await refused(home, "memory.intents.remove", {"id": mine["id"]}, ANNA)
    removed = await call(home, "memory.intents.remove", {"id": mine["id"]})

    assert [each["id"] for each in listed] == [mine["id"]] == [removed["id"]]
    assert annas == nobodys == []
    assert isinstance(not_hers, NotFound)
    assert isinstance(await refused(home, "memory.intents.add", params, PROGRAM), NotFound)
    assert isinstance(await refused(home, "memory.intents.add", {**params, "topics": []}), InvalidRequest)
