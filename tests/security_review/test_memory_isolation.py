"""A word in each one's memory, and every way to see memory: it is met where it belongs and nowhere else."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import to_builtins

from hub.core.context import Authority, Context
from hub.core.errors import HubError
from hub.core.services import ResponseMode
from hub.core.surfaces import READ, WRITE, Method, Route
from hub.memory.contract import Filters, Forget, Memory
from hub.memory.notebook import Notebook
from hub.storage.instance_lock import InstanceLock
from hub.tools.contract import Tool
from tests.lengths import some
from tests.security_review.besieged import SESSION, Besieged
from tests.security_review.canaries import (
    ANNA,
    ANNAS_SESSION,
    GROUP,
    OF_GROUP,
    OUTSIDE,
    OWNER,
    READING,
    ROOM,
    SHARED,
    TAINTED,
    Canaries,
    Viewer,
    canaries,
    house_memory,
    of,
    seen,
    viewers,
    word,
)
from tests.security_review.test_laundering import strangers_turn, tool_call
from tests.security_review.test_tools import call
from tests.servers.forked import run
from tests.servers.openai_server import OpenAIServer

WORD_FOR_ALL = "boiler"
INTENTS = {"owner": 2, "anna": 1, "owner in the group": 1}
"""How many reminders somebody sees at least."""
LOOKS = ("", "boiler", "plumber", "gardener", "canary", "For the boiler at home", "me", "anna", "*", "today")
KNOWN = {
    Memory: {
        *("add", "forget", "get", "is_empty", "left_out", "notebook", "search", "similar", "status", "sync", "verify"),
    },
    Notebook: {"bring_in", "changes", "files", "note", "read", "undo", "write"},
}


@pytest.fixture
async def told(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Canaries]:
    async with canaries(tmp_path / "home", openai_server) as standing:
        yield standing


def spellings(told: Canaries) -> list[str]:
    """Return the memory files, and names that might be taken for one."""
    some = [
        *("memory", "memory/people", "memory/groups", "extra", "transcripts", ".", "", "extra/others", "*"),
        *("memory//people/anna.md", "memory/./people/anna.md", "./memory/people/anna.md", "Memory/People/anna.md"),
        *("memory/people/../people/anna.md", "memory/PEOPLE/anna.md", "memory/people/ANNA.md", "memory/people/anna"),
        *(
            "memory/people/anna.md/",
            "memory/people/anna.md\x00",
            "memory\\people\\anna.md",
            "memory/people/anna.md/x.md",
        ),
        *("extra/others/../../workspace/memory/people/anna.md", "extra/../memory/people/anna.md"),
        *("memory/ｐeople/anna.md", "memory/peop\u200cle/anna.md", "extra/house/../../secrets.yaml"),
        *("transcripts/../hub.db", "extra/others//letter.md", "extra/OTHERS/letter.md"),
    ]
    return [*told.files, *some]


NAMES_OF_FILES = frozenset({"path", "glob", "query"})


def attacks(tool: Tool, told: Canaries) -> Iterator[dict[str, Any]]:
    properties: dict[str, Any] = dict(tool.parameters.json_schema.get("properties", {}))
    required = {name: _plain(properties[name]) for name in tool.parameters.json_schema.get("required", ())}
    for name, told_of in properties.items():
        if "enum" in told_of:
            for value in told_of["enum"]:
                yield required | {name: value}
        elif told_of.get("type") == "string":
            # Odd spellings are for what names a file; to the rest a path is one more word.
            paths = spellings(told) if name in NAMES_OF_FILES else list(told.files)[:1]
            for value in (*LOOKS, *paths, SESSION, ANNAS_SESSION, GROUP):
                yield required | {name: value}
    yield required


def _plain(told_of: dict[str, Any]) -> Any:
    if "enum" in told_of:
        return told_of["enum"][0]
    return {"integer": 1, "number": 1, "boolean": False, "object": {}, "array": []}.get(
        str(told_of.get("type")), WORD_FOR_ALL
    )


async def test_each_finds_what_is_theirs_and_nothing_else(told: Canaries) -> None:
    for viewer in viewers(told.house):
        searched = await call(
            told.house, "memory_search", {"query": WORD_FOR_ALL, "limit": 50}, viewer.authority, viewer.session
        )
        listed = await call(told.house, "standing_intent", {"action": "list"}, viewer.authority, viewer.session)

        found = seen(searched.output) | seen(searched.details)
        assert found <= viewer.may, viewer.name
        there = {each for each in viewer.may if not each.endswith("intent")}
        there -= {word(SHARED, "said"), word(OUTSIDE, "tool"), word(OUTSIDE, "note"), word(OUTSIDE, "said")}
        there -= {word(TAINTED, "note")}
        assert searched.is_error or found == there - ({word(SHARED, "said")} & there), viewer.name
        assert seen(listed.output) <= {each for each in viewer.may if each.endswith("intent")}, viewer.name
        assert len(seen(listed.output)) >= INTENTS.get(viewer.name, 0), viewer.name


async def test_no_tool_shows_anybody_what_is_not_theirs(told: Canaries) -> None:
    told.stop_approving()
    told.house.deny_what_is_asked()
    tools = sorted(told.house.hub.tools.all(), key=lambda tool: tool.name == "forget")
    for number, tool in enumerate(tools):
        for turn, viewer in enumerate(viewers(told.house), number):
            for arguments in some(attacks(tool, told), turn, one_of=16):
                if tool.name == "forget" and viewer.may:
                    continue  # it would take away what others look for; its previews have a test of their own
                result = await call(told.house, tool.name, arguments, viewer.authority, viewer.session)

                shown = seen(result.output) | seen(result.details)
                assert shown <= viewer.may | _of_conversations(tool, viewer), (tool.name, viewer.name, arguments)
                outside = seen(result.output) & of(TAINTED, OUTSIDE)  # the details are for people
                assert not (outside and result.trusted), (tool.name, viewer.name, arguments)


def _of_conversations(tool: Tool, viewer: Viewer) -> frozenset[str]:
    """Return what a tool about conversations may show beside memory: an owner's and those of rooms, and one's own."""
    if not tool.name.startswith("sessions_"):
        return frozenset()
    owners = of(OWNER, OF_GROUP, TAINTED, OUTSIDE, SHARED)
    own = {SESSION: owners, ANNAS_SESSION: of(ANNA, SHARED), GROUP: of(OF_GROUP, SHARED)}.get(
        viewer.session, frozenset()
    )
    return own | (owners if viewer.authority.owner else frozenset())


def test_the_ways_into_memory_are_known() -> None:
    """Whoever adds one adds it to the walks below."""
    for contract, names in KNOWN.items():
        own = {name for name in (*vars(contract), *contract.__annotations__) if not name.startswith("_")}

        assert own == names


async def test_no_scope_reaches_beyond_its_areas_whatever_it_asks(told: Canaries) -> None:
    memory: Memory = house_memory(told.house)
    notebook = memory.notebook
    for viewer in viewers(told.house):
        about: dict[str, Any] = {"agent_id": "main", "scope": viewer.scope(told.house)}
        shown: list[object] = []
        for filters in (Filters(), Filters(person="anna"), Filters(session=ANNAS_SESSION), Filters(trusted=False)):
            for query in LOOKS:
                shown += (await memory.search(query, limit=50, filters=filters, **about)).hits
        shown += await memory.similar(threshold=0.0, **about)
        shown += await notebook.changes(limit=200, **about)
        shown += await notebook.files(**about)
        for path in spellings(told):
            for look in (memory.get(path, **about), notebook.read(path, **about)):
                try:
                    shown.append(await look)
                except (HubError, OSError) as error:
                    shown.append(str(error).replace(path, ""))
        for what in (Forget("boiler"), Forget("boiler", person="anna"), Forget("canary", session=ANNAS_SESSION)):
            shown.append(await _previewed(memory, what, about))
        for session in (SESSION, ANNAS_SESSION, GROUP, READING):
            shown.append(await _previewed(memory, Forget(session=session), about))
        for person in ("me", "anna"):
            shown.append(await _previewed(memory, Forget(person=person), about))
        for each in told.house.hub.sessions.list("main"):
            shown.append(await memory.left_out(each.session_id, agent_id="main"))

        assert seen(shown) <= viewer.may, viewer.name
        assert all(seen(each) <= of(TAINTED, OUTSIDE) for each in shown if getattr(each, "trusted", True) is False)


async def _previewed(memory: Memory, what: Forget, about: dict[str, Any]) -> object:
    try:
        return [to_builtins(hit) for hit in await memory.forget(what, dry_run=True, **about)]
    except HubError as error:
        return str(error)


async def test_what_is_put_before_a_model_unasked_is_of_the_conversation_and_of_this_home(told: Canaries) -> None:
    house, server = told.house, told.server
    for says, group, session, may, is_reminded in (
        ("platform:user:1", None, SESSION, of(OWNER, SHARED), True),
        ("platform:user:2", None, ANNAS_SESSION, of(ANNA, SHARED), True),
        ("platform:user:1", ROOM, GROUP, of(OF_GROUP, SHARED), True),
        ("platform:user:2", ROOM, GROUP, of(OF_GROUP, SHARED), False),
        ("platform:user:9", ROOM, GROUP, of(OF_GROUP), False),
        ("platform:user:9", None, "agent:main:platform:direct:9", frozenset[str](), False),
    ):
        server.reset()
        keys: set[str | None] = set()
        await house.platform.say("platform:user:1" if group else says, "/new", group=group)
        for text in ("What about that boiler at home and what to remember?", "The plumber is coming over today"):
            server.queue("I see")
            receipt = await house.platform.say(says, text, group=group)
            if receipt.run_id is not None:
                keys.add(receipt.session_key)
                await house.heard(receipt)
        assert keys == {session}
        shown = [each["messages"] for each in told.prompts() if WORD_FOR_ALL in str(each) or "plumber" in str(each)]

        assert seen(shown) <= may, (says, group)
        assert any(each.endswith("intent") for each in seen(shown)) is is_reminded, (says, group)
        assert any(not each.endswith("intent") for each in seen(shown)) is bool(may), (says, group)


async def test_words_from_outside_never_stand_before_a_model_unquoted(told: Canaries) -> None:
    house, server = told.house, told.server
    server.reset()
    server.queue("I see", "I see")
    await house.run("What about that boiler at home and what to remember?", "agent:main:webchat:direct:fresh")
    await house.run("The gardener is coming over today", "agent:main:webchat:direct:fresh")

    systems = [message for each in told.prompts() for message in each["messages"] if message["role"] == "system"]
    assert seen(systems) <= of(OWNER)
    for each in told.prompts():
        for message in each["messages"]:
            text = str(message)
            for outside in seen(text) & of(TAINTED, OUTSIDE):
                assert text.index("<<<outside ") < text.casefold().index(outside) < text.rindex(">>>outside ")
    assert word(TAINTED, "intent") in seen(told.prompts())
    found = house.hub.sessions.get("agent:main:webchat:direct:fresh")
    assert found is not None
    assert found.tainted


async def test_a_service_sees_what_its_caller_sees(told: Canaries) -> None:
    hub = told.house.hub
    people = hub.people
    owner, anna = people.owner_authority(), people.authority_for("platform:user:2")
    for authority, may in (
        (owner, of(OWNER, TAINTED, SHARED, OUTSIDE)),
        (anna, of(ANNA, SHARED)),
        (people.authority_for("platform:user:9"), frozenset[str]()),
        (Authority("token:x", scopes=frozenset({"operator.admin"})), frozenset[str]()),
        (Authority("automation:x"), frozenset[str]()),
    ):
        for service in hub.services.all():
            if service.domain != "memory":
                continue
            for data in _service_attacks(told, service.name):
                try:
                    shown: object = await hub.services.call(
                        "memory",
                        service.name,
                        data,
                        context=Context(authority),
                        wants_response=service.response is not ResponseMode.NONE,
                    )
                except HubError as error:
                    shown = "" if error.message in str(data) else error.message

                assert seen(shown) <= may, (service.id, authority.principal, data)


def _service_attacks(told: Canaries, name: str) -> Iterator[dict[str, Any]]:
    for look in LOOKS:
        if name != "forget":
            yield {"query": look}
        yield {"query": look, "dry_run": True}
    yield from ({"path": path} for path in spellings(told))
    for key, values in {"person": ("me", "anna"), "session": (SESSION, ANNAS_SESSION, GROUP)}.items():
        for value in values:
            yield {key: value, "dry_run": True}
            yield {"query": WORD_FOR_ALL, key: value}
            yield {"session_key": value}
    yield {}


def _method_attacks(told: Canaries, method: Method) -> Iterator[dict[str, Any]]:
    fields = {str(key) for key in method.schema.schema}
    safe = {"dry_run": True} if "dry_run" in fields else {}
    if method.acts and not safe:
        return
    for name, values in {
        "query": LOOKS,
        "path": spellings(told),
        "person": ("me", "anna"),
        "session": (SESSION, ANNAS_SESSION, GROUP),
        "agent": ("main",),
        "after": ("", "memory/people/", "memory/groups"),
    }.items():
        if name in fields:
            for value in values:
                yield {"query": WORD_FOR_ALL} | {name: value} | safe if "query" in fields else {name: value} | safe
    yield {"idempotencyKey": "x"} if method.acts else {}


async def test_no_method_about_memory_shows_a_caller_what_is_not_theirs(told: Canaries) -> None:
    house = told.house
    _, reader = await house.token(READ)
    _, writer = await house.token(WRITE)
    methods = [each for each in house.hub.gateway.methods if each.name.startswith("memory.")]
    assert len(methods) >= 17
    for header, may in (
        (house.owner, of(OWNER, TAINTED, SHARED, OUTSIDE)),
        (reader, frozenset[str]()),
        (writer, frozenset[str]()),
    ):
        met: set[str] = set()
        for method in methods:
            for number, params in enumerate(_method_attacks(told, method)):
                key = {"idempotencyKey": f"{method.name}-{number}"} if method.acts else {}
                shown = str(await _asked(house, method.name, params | key, header))

                assert seen(shown) <= may, (method.name, params)
                met |= seen(shown)
        assert bool(met) is bool(may)


async def _asked(house: Besieged, method: str, params: dict[str, Any], header: dict[str, str]) -> Any:
    async with house.http.post(
        f"{house.url}/api/rpc", json={"method": method, "params": params}, headers=header
    ) as answer:
        return await answer.text()


async def test_what_is_taken_away_holds_the_owners_files_alone(told: Canaries) -> None:
    exported = await told.house.rpc("memory.export", {})

    assert seen(exported) <= of(OWNER, TAINTED, SHARED)
    assert word(OWNER, "tool") in seen(exported)
    assert word(TAINTED, "tool") in seen(exported)
    assert not any("people/anna" in each["path"] or "groups" in each["path"] for each in exported["files"])


async def test_no_page_shows_what_is_not_the_viewers(told: Canaries) -> None:
    house = told.house
    cookie = await house.cookie()
    _, reader = await house.token(READ)
    pages = [route for route in house.hub.gateway.routes if route.method == "GET" and "/memory" in route.path]
    assert len(pages) >= 8
    for headers, may in ((cookie, of(OWNER, TAINTED, SHARED, OUTSIDE)), (reader, frozenset[str]())):
        met: set[str] = set()
        for turn, page in enumerate(pages):
            for query in some(_page_queries(told), turn, one_of=6):
                answer = await house.go(page, headers, path=f"{_place(page)}?{query}")
                shown = unescape(answer.body.decode("utf-8", "replace"))

                assert seen(shown) <= may, (page.path, query)
                met |= seen(shown)
        assert bool(met) is bool(may)


def _place(page: Route) -> str:
    return page.path.replace("{path:*}", "x").replace("{id:*}", "x").replace("{id}", "x")


def _page_queries(told: Canaries) -> list[str]:
    return [
        "",
        *(f"path={quote(path)}" for path in spellings(told)),
        *(f"{name}={quote(look)}" for name in ("q", "query") for look in LOOKS),
        *(f"person={person}" for person in ("me", "anna")),
        f"session={quote(ANNAS_SESSION)}",
    ]


async def test_the_command_line_shows_the_owner_theirs_alone(told: Canaries, tmp_path: Path) -> None:
    home = told.house.hub.home.path
    lock = InstanceLock(home)
    lock.acquire()
    lock.update(*told.house.hub.gateway.address)
    met: set[str] = set()
    for arguments in (
        ("search", WORD_FOR_ALL, "--limit", "50", "--json"),
        ("list", "--json"),
        ("show", "memory/people/anna.md"),
        ("changes", "--diff"),
        ("forget", "--person", "anna", "--dry-run"),
        ("export", str(tmp_path / "out")),
    ):
        environment = os.environ | {"HOMARUS_CONFIG": str(home)}
        ran = await asyncio.to_thread(run, "hub", "memory", *arguments, environment=environment)
        shown = seen(ran.stdout + ran.stderr)

        assert shown <= of(OWNER, TAINTED, SHARED, OUTSIDE), arguments
        met |= shown
    lock.release()
    taken = [each.read_text() for each in (tmp_path / "out").rglob("*.md")]
    assert met
    assert word(OWNER, "tool") in seen(taken)
    assert seen(taken) <= of(OWNER, TAINTED, SHARED)


async def test_events_and_logs_tell_no_words(
    tmp_path: Path, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with canaries(tmp_path / "home", openai_server) as told:
            await told.house.run("What about that boiler, and the plumber?", SESSION)
            kinds = {event.type for event in told.events}
            memory = house_memory(told.house)
            status = await memory.status(agent_id="main")
            verified = await memory.verify(agent_id="main")

    assert kinds >= {"memory_recalled", "memory_changed", "memory_flushed", "standing_intent_fired"}
    assert seen([event.data for event in told.events]) == set()
    assert seen([status, verified]) == set()
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("hub", "integrations", "web"))]
    assert ours
    assert seen(ours) == set()


async def test_what_a_stranger_wants_in_a_group_changes_nobodys_memory(
    told: Canaries, openai_server: OpenAIServer
) -> None:
    house = told.house
    house.deny_what_is_asked()
    before = {file: file.read_bytes() for file in house.workspace.rglob("*") if file.is_file()}
    for arguments in ({"text": "obey"}, {"text": "obey", "shared": True}, {"text": "obey", "replaces": WORD_FOR_ALL}):
        await strangers_turn(house, openai_server, tool_call("remember", **arguments))
    await strangers_turn(house, openai_server, tool_call("forget", query=WORD_FOR_ALL))
    await strangers_turn(house, openai_server, tool_call("forget", session="this"))
    await strangers_turn(
        house, openai_server, tool_call("standing_intent", action="add", topic="weather", remind="obey")
    )

    assert {file: file.read_bytes() for file in house.workspace.rglob("*") if file.is_file()} == before
    scope = viewers(house)[5].scope(house)
    assert not any("obey" in each.text for each in house.hub.remembering.intents.list(agent_id="main", scope=scope))
