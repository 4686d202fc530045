"""Encrypted rooms: a second client of the same library talks with the channel, through a real Synapse."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from nio import AsyncClient, AsyncClientConfig

from hub.messaging.contract import Button, ButtonPressed, DeliveryState, InboundMessage, MediaKind, OutboundMedia
from tests.integrations.channels.matrix.rig import MatrixRig, matrix_rig
from tests.servers.synapse import Synapse
from tests.until import until

ENCRYPTED = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}


class Correspondent:
    """Ada's client, which encrypts; what it reads is in `read`."""

    def __init__(self, rig: MatrixRig, synapse: Synapse, folder: Path) -> None:
        folder.mkdir()
        self.client = AsyncClient(
            synapse.url, rig.ada.user_id, rig.ada.device_id, str(folder), AsyncClientConfig(encryption_enabled=True)
        )
        self.client.restore_login(rig.ada.user_id, rig.ada.device_id, rig.ada.token)
        self.read: list[dict[str, Any]] = []
        self.client.add_event_callback(lambda _, event: self.read.append(event.source), (object,))

    async def sync(self) -> None:
        await self.client.sync(timeout=0)
        if self.client.should_upload_keys:
            await self.client.keys_upload()
        if self.client.should_query_keys:
            await self.client.keys_query()

    async def say(self, room: str, text: str) -> str:
        await self.sync()
        content = {"msgtype": "m.text", "body": text}
        sent = await self.client.room_send(room, "m.room.message", content, ignore_unverified_devices=True)
        return str(sent.event_id)

    def texts(self, sender: str) -> list[str]:
        found = [each for each in self.read if (each["type"], each["sender"]) == ("m.room.message", sender)]
        return [each["content"]["body"] for each in found]


@pytest.fixture
async def rig(synapse: Synapse, tmp_path: Path) -> AsyncIterator[MatrixRig]:
    async with matrix_rig(synapse, tmp_path) as rig:
        rig.encryption = True
        yield rig


@pytest.fixture
async def ada(rig: MatrixRig, synapse: Synapse, tmp_path: Path) -> AsyncIterator[Correspondent]:
    correspondent = Correspondent(rig, synapse, tmp_path / "ada")
    await correspondent.sync()
    yield correspondent
    await correspondent.client.close()


async def test_a_choice_is_pressed_in_an_encrypted_room_and_after_a_restart(rig: MatrixRig, ada: Correspondent) -> None:
    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    channel = await rig.start()
    await rig.heard(await ada.say(room, "A secret"))
    (about,) = (await channel.send(rig.message(room, "May I?", buttons=((Button("Yes", "y"),),)))).platform_ids
    await ada.sync()
    await rig.stop()
    await rig.start()

    relation = {"rel_type": "m.annotation", "event_id": about, "key": "1\ufe0f\u20e3"}
    pressed = await rig.heard(await rig.ada.send(room, "m.reaction", {"m.relates_to": relation}))

    assert isinstance(pressed, ButtonPressed)
    assert (pressed.value, pressed.message_id) == ("y", about)
    assert ada.texts(rig.bot.user_id) == ["May I?\n\n1\ufe0f\u20e3 Yes"]
    assert not await rig.ada.events(room, "m.room.message")


async def test_messages_go_both_ways_in_an_encrypted_room_and_after_a_restart(
    rig: MatrixRig, ada: Correspondent
) -> None:
    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    channel = await rig.start()

    heard = await rig.heard(await ada.say(room, "A secret"))
    sent = await channel.send(rig.message(room, "Another", "one"))
    await ada.sync()
    await rig.stop()
    while_down = await ada.say(room, "Said while it was down")
    channel = await rig.start()
    await rig.heard(while_down)
    await channel.send(rig.message(room, "Third", "two"))
    await channel.send(rig.message(room, "Third", "two"))
    await ada.sync()

    assert isinstance(heard, InboundMessage)
    assert rig.hub.texts == ["A secret", "Said while it was down"]
    assert sent.state is DeliveryState.DELIVERED
    assert ada.texts(rig.bot.user_id) == ["Another", "Third"]
    assert not await rig.ada.events(room, "m.room.message")
    store = rig.folder / "keys" / "keys-default.db"
    assert (store.parent.stat().st_mode & 0o777, store.exists()) == (0o700, True)


async def test_a_device_that_comes_later_can_read_what_is_sent_from_then_on(
    rig: MatrixRig, ada: Correspondent, synapse: Synapse, tmp_path: Path
) -> None:
    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    channel = await rig.start()
    await rig.heard(await ada.say(room, "Hi"))
    await channel.send(rig.message(room, "One", "one"))
    login = await rig.ada.call(
        "POST",
        "login",
        {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": rig.ada.user_id},
            "password": "correct horse",
        },
    )
    rig.ada.token, rig.ada.device_id = login["access_token"], login["device_id"]
    phone = Correspondent(rig, synapse, tmp_path / "phone")
    await phone.sync()
    await rig.heard(await phone.say(room, "From my phone"))

    await channel.send(rig.message(room, "Two", "two"))
    await phone.sync()
    await phone.client.close()

    assert phone.texts(rig.bot.user_id) == ["Two"]


async def test_files_are_encrypted_both_ways(rig: MatrixRig, ada: Correspondent, tmp_path: Path) -> None:
    from nio.crypto import decrypt_attachment

    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    channel = await rig.start()
    await rig.heard(await ada.say(room, "Files follow"))
    (tmp_path / "plan.pdf").write_bytes(b"plan" * 50_000)
    file = OutboundMedia(MediaKind.FILE, str(tmp_path / "plan.pdf"), "application/pdf", "plan.pdf")
    sent = await channel.send(rig.message(room, "", media=(file,)))
    await ada.sync()
    announced = next(each["content"] for each in ada.read if each["content"].get("msgtype") == "m.file")["file"]
    downloaded = await ada.client.download(mxc=announced["url"])
    content = {"msgtype": "m.file", "body": "back.pdf", "file": announced}
    back = await ada.client.room_send(room, "m.room.message", content, ignore_unverified_devices=True)
    heard = await rig.heard(back.event_id)
    assert isinstance(heard, InboundMessage)

    fetched = b"".join([piece async for piece in channel.fetch(heard.address, heard.media[0])])

    assert sent.state is DeliveryState.DELIVERED
    assert downloaded.body != b"plan" * 50_000
    plain = decrypt_attachment(downloaded.body, announced["key"]["k"], announced["hashes"]["sha256"], announced["iv"])
    assert plain == fetched == b"plan" * 50_000


async def test_a_file_that_was_changed_on_the_homeserver_is_an_error(rig: MatrixRig, ada: Correspondent) -> None:
    from hub.core.errors import HubError
    from hub.messaging.contract import Media

    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    keys = {"key": {"k": "A" * 43}, "iv": "A" * 22, "hashes": {"sha256": "A" * 43}}
    reference = json.dumps(keys | {"url": await rig.ada.upload(b"other bytes")})

    with pytest.raises(HubError, match="not the one"):
        _ = [piece async for piece in channel.fetch(rig.message(room, "").address, Media(MediaKind.FILE, reference))]


async def test_nothing_is_sent_before_everybody_has_the_key(rig: MatrixRig, ada: Correspondent) -> None:
    faults: tuple[dict[str, Any], ...] = ({"status": 502}, {"status": 429}, {"drops": True})
    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    channel = await rig.start()
    await rig.heard(await ada.say(room, "Hi"))
    await until(lambda: rig.hub.states[-1] == "connected")
    read: list[str] = []
    for request_kind, fault in product(("sendToDevice", "keys/claim"), faults):
        read.append(f"{request_kind} {fault}")
        olm = channel._client.olm
        olm.session_store._entries.clear()
        olm.outbound_group_sessions.clear()
        failing = rig.proxy.fails(request_kind, times=9, **fault)

        first = await channel.send(rig.message(room, read[-1], read[-1]))
        failing.times = 0
        second = await channel.send(rig.message(room, read[-1], read[-1]))
        await ada.sync()

        assert first.state is DeliveryState.TRANSIENT, read[-1]
        assert second.state is DeliveryState.DELIVERED, read[-1]
        assert ada.texts(rig.bot.user_id) == read


async def test_without_encryption_an_encrypted_room_is_neither_read_nor_written_in_the_clear(
    rig: MatrixRig, ada: Correspondent, caplog: pytest.LogCaptureFixture
) -> None:
    rig.encryption = False
    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    channel = await rig.start()
    await ada.say(room, "One")
    await ada.say(room, "Two")
    await until(lambda: "encryption: true" in caplog.text)

    sent = await channel.send(rig.message(room, "In the clear?"))

    assert sent.state is DeliveryState.PERMANENT
    assert "encryption: true" in (sent.error or "")
    assert caplog.text.count("cannot be read") == 1
    assert rig.hub.texts == []


@pytest.mark.parametrize("encryption", [True, False])
async def test_what_is_said_to_a_stranger_who_invited_to_an_encrypted_room_is_encrypted(
    rig: MatrixRig, ada: Correspondent, encryption: bool
) -> None:
    rig.encryption = encryption
    rig.hub.welcome = lambda inbound: False
    channel = await rig.start()
    room = await rig.ada.room(rig.bot, initial_state=[ENCRYPTED])
    await until(lambda: bool(rig.hub.messages))
    await ada.sync()

    sent = await channel.send(rig.message(room, "Your code"))
    await ada.sync()

    assert sent.state is (DeliveryState.DELIVERED if encryption else DeliveryState.PERMANENT)
    assert ada.texts(rig.bot.user_id) == (["Your code"] if encryption else [])
    assert await rig.ada.events(room, "m.room.message") == []


async def test_a_message_whose_key_comes_late_is_read_then(
    rig: MatrixRig, ada: Correspondent, caplog: pytest.LogCaptureFixture
) -> None:
    room = await rig.ada.room_with(rig.bot, initial_state=[ENCRYPTED])
    await rig.start()
    await rig.heard(await ada.say(room, "Hi"))
    # A session whose key Ada's client has made out, and not sent yet.
    olm = ada.client.olm
    ada.client.invalidate_outbound_session(room)
    ((_, key),) = olm.share_group_session_parallel(room, [rig.bot.user_id], ignore_unverified_devices=True)
    olm.outbound_group_sessions[room].shared = True
    late = await ada.say(room, "Late")
    await until(lambda: "cannot be read" in caplog.text)

    await rig.ada.call("PUT", "sendToDevice/m.room.encrypted/late", key)
    heard = await rig.heard(late)

    assert isinstance(heard, InboundMessage)
    assert heard.text == "Late"
