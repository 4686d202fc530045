"""The Wyoming server, over a real socket with the frames that Home Assistant writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hub.core.errors import Forbidden
from hub.core.schema import Optional, Schema, SchemaError
from hub.core.services import ResponseMode, ServiceCall
from hub.entities.description import DeviceInfo, EntityDescription
from hub.entities.entities import HomeEntities
from hub.entities.registry import HomeRegistry
from hub.security.people import People, Person
from hub.storage.versioned_file import VersionedFile
from hub.voice.wake import WakeEngines, WakeHeard, WakeWord
from integrations.devices.wyoming.schema import CONFIG_SCHEMA
from integrations.devices.wyoming.server import WyomingServer
from integrations.devices.wyoming.wake import WyomingWake
from integrations.devices.wyoming.wire import EVENT_LIMIT_BYTES, WyomingEvent, encode
from tests.automation.triggers.bench import Bench
from tests.hosting import host_on
from tests.until import as_time_passes, until

SECTIONS: dict[str, Any] = {"hub": {"name": "Home", "language": "en"}, "messages": {"media": {}}}


class Assist(Bench):
    """A server whose agent repeats what it hears.

    Attributes:
        pieces: What it writes meanwhile; \0 ends a message.
    """

    models: Any = SimpleNamespace(speech_ref=None)

    def __init__(self, home: Path, **config: Any) -> None:
        super().__init__(home)
        self.calls: list[ServiceCall] = []
        self.pieces: list[str] = []
        self.services, self.bus = self.parts.services, self.parts.bus
        file = VersionedFile(home / "registry.json", 1)
        registry = HomeRegistry(file, self.bus, self.parts.states, self.tasks)
        self.entities = HomeEntities(registry, self.parts.states, self.bus)
        self.people = People([Person("me", "Me", owner=True)])
        self.agents = SimpleNamespace(default=lambda: SimpleNamespace(id="main"))
        self.config = SimpleNamespace(current=SimpleNamespace(or_default=SECTIONS.__getitem__))
        self.held: list[str] = []
        self.services.register("agent", "run", self._run, Schema({Optional(str): object}), ResponseMode.OPTIONAL)
        self.wake_engines = WakeEngines(self.clock, self.tasks)
        here = SimpleNamespace(held_at=lambda _, place: self.held.append(place), answer_ring=self._nothing_rings)
        here.wake_engines = self.wake_engines
        self.voice: Any = SimpleNamespace(satellites=lambda: here)
        self.server = WyomingServer(host_on(self, "wyoming")[0], CONFIG_SCHEMA(config) | {"port": 0})
        self.port = 0

    async def _nothing_rings(self, place: str, text: str) -> None:
        return None

    async def _run(self, call: ServiceCall) -> Any:
        self.calls.append(call)
        said, notes = call.data["message"], call.notes
        assert notes is not None
        notes["run_id"] = said
        for run_id, pieces in {said: self.pieces, "another": ["no"]}.items():
            so_far = ""
            for each in pieces:
                so_far = each if so_far.endswith("\0") else so_far + each
                told = {"run_id": run_id, "text": each.strip("\0"), "so_far_chars": len(so_far.strip("\0"))}
                self.bus.fire("run_delta", told)
        if said == "forbidden":
            raise Forbidden("this is not for you")
        return {"reply": f"You said: {said}"}

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


def sentence(text: str, **context: Any) -> dict[str, Any]:
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
    (handle,) = info["data"]["handle"]
    assert (handle["name"], handle["installed"], handle["supports_handled_streaming"]) == ("Home", True, True)
    assert handle["models"][0]["languages"][0] == "en"  # Home Assistant 2025.4 offers one without languages for none
    assert "zh" in handle["models"][0]["languages"]
    assert pong == {"type": "pong", "data": {"text": "x"}}


async def test_a_sentence_goes_to_the_agent_without_rights_and_its_answer_comes_back(assist: Assist) -> None:
    answers = await assist.ask(sentence("turn on 灯", conversation_id="01J", device_id="d"), sentence("again"))

    assert [(each["type"], each["data"].get("text")) for each in answers] == [
        ("handled-start", None),
        ("handled-chunk", "You said: turn on 灯"),
        ("handled", "You said: turn on 灯"),
        ("handled-stop", None),
        ("handled-start", None),
        ("handled-chunk", "You said: again"),
        ("handled", "You said: again"),
        ("handled-stop", None),
    ]
    assert answers[2]["data"]["context"] == {"conversation_id": "01J", "device_id": "d"}
    assert [each.data.get("session") for each in assist.calls] == ["agent:main:hook:wyoming%3A01J", None]
    for each in assist.calls:
        authority = each.context.authority
        assert (authority.tainted, authority.owner, authority.scopes, authority.person) == (
            True,
            False,
            frozenset(),
            None,
        )


async def test_an_answer_is_told_by_sentences_while_it_is_written(assist: Assist) -> None:
    assist.pieces = ["Let me **look**\0", "The door is ", "open. So is", " the `window`."]

    answers = await assist.ask(sentence("what is open?"))

    assert [each["type"] for each in answers] == ["handled-start", *3 * ["handled-chunk"], "handled", "handled-stop"]
    chunks = [each["data"]["text"] for each in answers if each["type"] == "handled-chunk"]
    assert chunks == ["Let me look", " The door is open.", " So is the window."]


async def test_an_answer_that_breaks_off_is_not_handled(assist: Assist) -> None:
    assist.pieces = ["I will open it. And"]

    answers = await assist.ask(sentence("forbidden"))

    assert [each["type"] for each in answers] == ["handled-start", "handled-chunk", "not-handled", "handled-stop"]
    assert "not for you" in answers[2]["data"]["text"]


@pytest.mark.parametrize(
    ("about", "room", "held"),
    [
        ({"satellite_id": "assist_satellite.kitchen"}, "Kitchen", ["assist_satellite.kitchen"]),
        ({"device_id": "theirs"}, "Kitchen", ["assist_satellite.kitchen"]),
        ({"satellite_id": "assist_satellite.other", "device_id": "theirs"}, "Kitchen", ["assist_satellite.kitchen"]),
        ({"device_id": "unknown", "satellite_id": 1}, None, [""]),
        ({}, None, []),
    ],
)
async def test_the_room_of_a_bridged_satellite_is_that_of_the_sentence(
    assist: Assist, about: dict[str, Any], room: str | None, held: list[str]
) -> None:
    device = DeviceInfo(frozenset({"theirs"}), name="Voice", suggested_area="Kitchen")
    description = EntityDescription("assist_satellite", "x", "Kitchen", "kitchen", device)
    assist.entities.add(description, source="home_assistant")

    await assist.ask(sentence("light on", conversation_id="c", **about))

    assert assist.calls[0].data.get("area") == room
    assert assist.held == held
    assert assist.calls[0].data.get("spoken", False) is bool(held)


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


class WordsInBytes:
    """Finds words that are written in the samples."""

    name = "words in bytes"

    def __init__(self) -> None:
        self.streams: list[_Stream] = []

    async def words(self) -> list[WakeWord]:
        return [WakeWord("okay_nabu", "Okay Nabu", ("en",)), WakeWord("alexa", "Alexa", ("en",))]

    def open(self, satellite: str, words: Sequence[str], sensitivity: float, heard: WakeHeard) -> _Stream:
        self.streams.append(_Stream(words, heard))
        return self.streams[-1]


class _Stream:
    def __init__(self, words: Sequence[str], heard: WakeHeard) -> None:
        self.words, self.heard, self.is_open = words, heard, True

    def feed(self, samples: bytes) -> None:
        for each in self.words:
            if each.encode() in samples:
                self.heard(each, b"")

    def close(self) -> None:
        self.is_open = False


async def test_other_programs_have_wake_words_found_here(assist: Assist) -> None:
    finder, heard = WordsInBytes(), list[str]()
    assist.wake_engines.add(finder)
    elsewhere = WyomingWake(f"tcp://127.0.0.1:{assist.port}", assist.clock, assist.tasks.spawn)
    assist.wake_engines.add(elsewhere)  # which is not offered: it would be asked in a circle

    known = await elsewhere.words()
    stream = elsewhere.open("kitchen", ["alexa"], 0.5, lambda word, _: heard.append(word))
    stream.feed(b"okay_nabu.alexa.")
    await until(lambda: heard)
    stream.close()
    await until(lambda: not finder.streams[0].is_open)

    assert [(each.id, each.name) for each in known] == [("okay_nabu", "Okay Nabu"), ("alexa", "Alexa")]
    assert heard == ["alexa"]
    assert list(finder.streams[0].words) == ["alexa"]


@pytest.mark.parametrize(
    ("names", "sound", "answers"),
    [
        ({}, b"..okay_nabu.", ["detection"]),
        ({"names": ["OK Nabu"]}, b"........", ["not-detected"]),
        ({"names": ["hey_nobody"]}, b"........", ["error"]),
    ],
)
async def test_words_are_looked_for_until_the_sound_ends(
    assist: Assist, names: dict[str, Any], sound: bytes, answers: list[str]
) -> None:
    assist.wake_engines.add(WordsInBytes())
    form = {"rate": 16_000, "width": 2, "channels": 1}
    sent = [WyomingEvent("detect", names), WyomingEvent("audio-start", form), WyomingEvent("audio-chunk", form, sound)]

    raw = b"".join(encode(each) for each in [*sent, WyomingEvent("audio-stop")])
    asking = asyncio.create_task(assist.ask(raw=raw))
    await as_time_passes(assist.clock, 1.0, asking.done)
    found = await asking

    assert [each["type"] for each in found] == answers
    if answers == ["error"]:
        assert "there are okay_nabu, alexa" in found[0]["data"]["text"]
