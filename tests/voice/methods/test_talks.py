"""A talk over its socket: a real hub, with scripted servers for what answers, hears and speaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from hub.voice.contract import BYTES_PER_S
from hub.voice.methods.talks import CLOSE_REFUSED
from tests.hub_fixture import HubFixture, scripted_model
from tests.servers.openai_server import OpenAIServer
from tests.servers.speech_server import SpeechServer, tone

LOUD = (b"\x00\x20\x00\xe0" * (BYTES_PER_S // 4))[:BYTES_PER_S]


@pytest.fixture
def speech() -> Iterator[SpeechServer]:
    with SpeechServer() as server:
        yield server


@pytest.fixture
async def hub(tmp_path: Path, openai_server: OpenAIServer, speech: SpeechServer) -> AsyncIterator[HubFixture]:
    models = scripted_model(openai_server.base_url)
    models["providers"]["speech"] = {"api": "openai", "base_url": speech.base_url}
    sections = {
        "models": models,
        "messages": {
            "media": {"transcription_model": "speech/ears"},
            "inbound": {"debounce_ms": 0},
            "queue": {"debounce_ms": 0},
        },
        "speech": {"model": "speech/mouth", "voice": "alloy"},
    }
    used = ("openai_compatible", "webchat", "speech")
    async with HubFixture(tmp_path / "home", openai_server.base_url, sections=sections, integrations=used) as started:
        yield started


@pytest.fixture
async def client() -> AsyncIterator[ClientSession]:
    async with ClientSession() as session:
        yield session


async def opened(hub: HubFixture, client: ClientSession, key: str = "", language: str = "") -> dict[str, Any]:
    asked = {"method": "talk.open", "params": {"sessionKey": key, "language": language}}
    async with client.post(f"{hub.url}/api/rpc", json=asked, headers=hub.bearer) as answer:
        assert answer.status == 200, await answer.text()
        return dict((await answer.json())["payload"])


async def talk(hub: HubFixture, client: ClientSession, key: str = "") -> ClientWebSocketResponse:
    socket = await client.ws_connect(f"{hub.url}/talk")
    await socket.send_str((await opened(hub, client, key))["ticket"])
    return socket


async def until_state(socket: ClientWebSocketResponse, state: str) -> list[Any]:
    """Return what came until this state did; recordings as bytes."""
    found: list[Any] = []
    async with asyncio.timeout(20):
        while {"t": "state", "state": state} not in found[-1:]:
            message = await socket.receive()
            assert message.type in (WSMsgType.TEXT, WSMsgType.BINARY), message
            found.append(message.json() if message.type is WSMsgType.TEXT else message.data)
    return found


async def test_a_sentence_is_heard_answered_in_its_conversation_and_spoken(
    hub: HubFixture, client: ClientSession, openai_server: OpenAIServer, speech: SpeechServer
) -> None:
    speech.texts.append("Turn on the light")
    openai_server.queue("It is on.")
    socket = await talk(hub, client, "agent:main:kitchen")
    await until_state(socket, "listening")

    await socket.send_json({"t": "hold"})
    await socket.send_bytes(LOUD)
    await socket.send_json({"t": "release"})
    found = await until_state(socket, "speaking")
    found += [(await socket.receive()).json(), (await socket.receive()).data]
    await socket.send_json({"t": "played", "n": 1})
    await until_state(socket, "listening")
    await socket.close()

    assert {"t": "heard", "text": "Turn on the light"} in found
    assert found[-2:] == [{"t": "said", "n": 1, "text": "It is on.", "sound": True}, tone(9 / 25)]
    assert (speech.heard_s, speech.spoken) == ([1.0], ["It is on."])
    session = hub.sessions.get("agent:main:kitchen")
    assert session is not None
    entries = [each.message for each in (await hub.sessions.open_transcript(session)).branch() if each.message]
    assert next(each.text for each in entries).endswith("Turn on the light")
    assert entries[-1].text == "It is on."


async def test_what_is_set_up_and_the_texts_come_with_the_ticket(hub: HubFixture, client: ClientSession) -> None:
    told = await opened(hub, client, language="zh-CN")

    assert (told["hears"], told["speaks"]) == (True, True)
    assert told["texts"]["title"] == "语音对话"


async def test_a_ticket_opens_one_talk_and_nothing_else_does(hub: HubFixture, client: ClientSession) -> None:
    ticket = (await opened(hub, client))["ticket"]
    first = await client.ws_connect(f"{hub.url}/talk")
    await first.send_str(ticket)
    await until_state(first, "listening")

    for shown in (ticket, "", "nonsense", hub.token):
        socket = await client.ws_connect(f"{hub.url}/talk")
        await socket.send_str(shown)
        message = await socket.receive()

        assert (message.type, message.data) == (WSMsgType.CLOSE, CLOSE_REFUSED)
    await first.close()


async def test_a_ticket_of_a_revoked_token_opens_none_and_an_open_talk_ends_with_it(
    hub: HubFixture, client: ClientSession
) -> None:
    async with client.post(
        f"{hub.url}/api/rpc",
        json={"method": "token.create", "params": {"name": "x", "scopes": ["operator.write"]}},
        headers=hub.bearer,
    ) as answer:
        made = (await answer.json())["payload"]
    bearer = {"Authorization": f"Bearer {made['token']}"}
    tickets = []
    for _ in range(2):
        async with client.post(f"{hub.url}/api/rpc", json={"method": "talk.open"}, headers=bearer) as answer:
            tickets.append((await answer.json())["payload"]["ticket"])
    socket = await client.ws_connect(f"{hub.url}/talk")
    await socket.send_str(tickets[0])
    await until_state(socket, "listening")

    async with client.post(
        f"{hub.url}/api/rpc", json={"method": "token.revoke", "params": {"id": made["id"]}}, headers=hub.bearer
    ) as answer:
        assert answer.status == 200, await answer.text()

    async with asyncio.timeout(10):
        assert (await socket.receive()).type in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.ERROR)
    late = await client.ws_connect(f"{hub.url}/talk")
    await late.send_str(tickets[1])
    assert (await late.receive()).data == CLOSE_REFUSED


@pytest.mark.parametrize("frame", ["{", '{"t": "sing"}', '{"t": "stop", "n": -1, "part": 0}', "[]", '{"t": []}'])
async def test_a_frame_that_is_none_ends_the_talk(hub: HubFixture, client: ClientSession, frame: str) -> None:
    socket = await talk(hub, client)
    await until_state(socket, "listening")
    await socket.send_str(frame)

    assert (await socket.receive()).type is WSMsgType.CLOSE


async def test_the_files_of_a_talk_are_there_and_no_others(hub: HubFixture, client: ClientSession) -> None:
    for name, type in (("talk.js", "text/javascript"), ("microphone.js", "text/javascript"), ("talk.css", "text/css")):
        async with client.get(f"{hub.url}/talk/{name}") as answer:
            assert (answer.status, answer.content_type) == (200, type)
    for name in ("texts.json", "..%2ftalk.py"):
        async with client.get(f"{hub.url}/talk/{name}") as answer:
            assert answer.status == 404


async def test_where_nothing_is_set_up_it_is_said(
    tmp_path: Path, openai_server: OpenAIServer, client: ClientSession
) -> None:
    async with HubFixture(tmp_path / "bare", openai_server.base_url) as bare:
        told = await opened(bare, client)
        socket = await talk(bare, client)
        await socket.send_json({"t": "hold"})
        await socket.send_bytes(LOUD)
        await socket.send_json({"t": "release"})
        found = await until_state(socket, "thinking") + await until_state(socket, "listening")
        await socket.close()

    assert (told["hears"], told["speaks"]) == (False, False)
    assert [each["what"] for each in found if each["t"] == "error"] == ["hearing"]
