"""The Wyoming server, over a real socket with the frames that Home Assistant writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hub.core.errors import Forbidden
from hub.core.schema import Optional, Schema, SchemaError
from hub.core.services import ResponseMode, ServiceCall
from hub.security.people import People, Person
from integrations.devices.wyoming.schema import CONFIG_SCHEMA
from integrations.devices.wyoming.server import WyomingServer
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES
from tests.automation.triggers.bench import Bench
from tests.hosting import host_on

SECTIONS: dict[str, Any] = {"hub": {"name": "Home", "language": "en"}, "messages": {"media": {}}}


class Assist(Bench):
    """A server whose agent repeats what it hears."""

    models: Any = SimpleNamespace(speech_ref=None)

    def __init__(self, home: Path, **config: Any) -> None:
        super().__init__(home)
        self.calls: list[ServiceCall] = []
        self.services = self.parts.services
        self.people = People([Person("me", "Me", owner=True)])
        self.agents = SimpleNamespace(default=lambda: SimpleNamespace(id="main"))
        self.config = SimpleNamespace(current=SimpleNamespace(or_default=SECTIONS.__getitem__))
        self.services.register("agent", "run", self._run, Schema({Optional(str): object}), ResponseMode.OPTIONAL)
        self.server = WyomingServer(host_on(self, "wyoming")[0], CONFIG_SCHEMA(config) | {"port": 0})
        self.port = 0

    async def _run(self, call: ServiceCall) -> Any:
        self.calls.append(call)
        if call.data["message"] == "forbidden":
            raise Forbidden("this is not for you")
        return {"reply": f"You said: {call.data['message']}"}

    async def ask(self, *events: dict[str, Any], raw: bytes = b"") -> list[dict[str, Any]]:
        """Send events in Home Assistant's form, and return the answers until the server or we end it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for each in events:
            data = json.dumps(each.pop("data"), ensure_ascii=False).encode() if "data" in each else b""
            head = {**each, "version": "1.10.2"} | ({"data_length": len(data)} if data else {})
            writer.write(json.dumps(head).encode() + b"\n" + data)
        writer.write(raw)
        writer.write_eof()
        found = []
        while line := await reader.readline():
            head = json.loads(line)
            found.append({"type": head["type"], "data": json.loads(await reader.readexactly(head["data_length"]))})
        writer.close()
        return found


@pytest.fixture
async def assist(tmp_path: Path) -> AsyncIterator[Assist]:
    assist = Assist(tmp_path)
    server = await assist.server.start()
    assist.port = server.sockets[0].getsockname()[1]
    yield assist
    server.close()
    await assist.tasks.cancel_all()


def sentence(text: str, **context: str) -> dict[str, Any]:
    return {"type": "transcript", "data": {"text": text, "language": "en", "context": context}}


async def test_a_sentence_of_a_person_has_no_rights_of_an_owner(tmp_path: Path) -> None:
    assist = Assist(tmp_path, person="me")
    server = await assist.server.start()
    assist.port = server.sockets[0].getsockname()[1]

    await assist.ask(sentence("hello"))
    server.close()

    authority = assist.calls[0].context.authority
    assert (authority.person, authority.tainted, authority.owner, authority.scopes) == ("me", False, False, frozenset())


async def test_it_describes_itself_as_a_program_that_handles_sentences(assist: Assist) -> None:
    info, pong = await assist.ask({"type": "describe"}, {"type": "audio-stop"}, {"type": "ping", "data": {"text": "x"}})

    assert info["type"] == "info"
    assert [(each["name"], each["installed"], each["models"][0]["languages"]) for each in info["data"]["handle"]] == [
        ("Home", True, [])
    ]
    assert pong == {"type": "pong", "data": {"text": "x"}}


async def test_a_sentence_goes_to_the_agent_without_rights_and_its_answer_comes_back(assist: Assist) -> None:
    answers = await assist.ask(sentence("turn on 灯", conversation_id="01J", device_id="d"), sentence("again"))

    assert [(each["type"], each["data"]["text"]) for each in answers] == [
        ("handled", "You said: turn on 灯"),
        ("handled", "You said: again"),
    ]
    assert [each.data.get("session") for each in assist.calls] == ["agent:main:hook:wyoming%3A01J", None]
    for each in assist.calls:
        authority = each.context.authority
        assert (authority.tainted, authority.owner, authority.scopes, authority.person) == (
            True,
            False,
            frozenset(),
            None,
        )


@pytest.mark.parametrize(
    ("text", "reason"), [("forbidden", "not for you"), (" ", "expected"), ("x" * 4_001, "expected")]
)
async def test_what_cannot_be_handled_is_said(assist: Assist, text: str, reason: str) -> None:
    answer = (await assist.ask(sentence(text)))[0]

    assert answer["type"] == "not-handled"
    assert reason in answer["data"]["text"]


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[1]\n",
        b'{"type": "transcript", "data": [1]}\n',
        b'{"type": "transcript", "data_length": 3}\n[1]',
        b'{"type": "transcript", "data_length": %d}\n' % (EVENT_LIMIT_BYTES + 1),
        b'{"type": "transcript", "payload_length": -1}\n',
        b"x" * (EVENT_LIMIT_BYTES * 2),
        b"[" * 20_000 + b"\n",
    ],
)
async def test_what_is_not_of_the_protocol_ends_its_own_connection(assist: Assist, raw: bytes) -> None:
    with suppress(ConnectionError):  # the rest was not read
        assert await assist.ask(raw=raw) == []

    assert (await assist.ask({"type": "ping"}))[0]["type"] == "pong"
    assert not assist.calls


async def test_only_this_machine_and_named_addresses_may_connect(tmp_path: Path) -> None:
    server = WyomingServer(host_on(Assist(tmp_path), "wyoming")[0], {**CONFIG_SCHEMA({}), "allow": ["192.168.1.0/28"]})

    found = {
        each: server._may(each) for each in ("127.0.0.1", "::1", "192.168.1.9", "::ffff:192.168.1.9", "192.168.1.99")
    }

    assert [each for each, may in found.items() if not may] == ["192.168.1.99"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"listen": "0.0.0.0"}, "allow is missing"),
        ({"listen": "localhost"}, "expected an address"),
        ({"allow": ["ha.local"]}, "address or a network"),
    ],
)
def test_mistakes_in_the_configuration_are_named(config: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        CONFIG_SCHEMA(config)
