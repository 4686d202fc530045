"""What WhatsApp delivers: who may deliver, what it becomes, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    Contact,
    InboundMessage,
    Media,
    MediaKind,
    MessageDeleted,
    MessageEdited,
    OutboundMessage,
    Quote,
    ReactionChanged,
    SharedLocation,
)
from hub.security.webhook_signature import FORMS, sign
from integrations.channels.whatsapp.channel import WhatsAppChannel
from integrations.channels.whatsapp.webhook import WhatsAppWebhook
from tests.channels.kit import Heard, HurriedClock
from tests.channels.whatsapp_rig import NUMBERS, WhatsAppRig
from tests.servers.whatsapp_server import ADA, APP_SECRET, EVES_PHONE, NUMBER_ID, VERIFY_TOKEN, WhatsAppServer
from tests.until import until

pytestmark = pytest.mark.usefixtures("channel")

WITH_ADA, BY_ADA = Address("whatsapp", ADA), f"whatsapp:user:{ADA}"


async def one(heard: Heard) -> Any:
    await until(lambda: bool(heard.inbound))
    return heard.inbound[0]


async def posted(server: WhatsAppServer, body: bytes, signature: str | None) -> int:
    headers = {} if signature is None else {"X-Hub-Signature-256": signature}
    async with aiohttp.ClientSession() as client, client.post(str(server.hub), data=body, headers=headers) as answer:
        return answer.status


async def asked(server: WhatsAppServer, **query: str) -> tuple[int, str]:
    named = {f"hub.{key}": value for key, value in query.items()}
    async with aiohttp.ClientSession() as client, client.get(str(server.hub), params=named) as answer:
        return answer.status, await answer.text()


async def test_metas_challenge_is_answered_with_the_verify_token_alone(server: WhatsAppServer) -> None:
    good = {"mode": "subscribe", "challenge": "1158201444", "verify_token": VERIFY_TOKEN}

    assert await asked(server, **good) == (200, "1158201444")
    for wrong in ({"verify_token": "guess"}, {"mode": "other"}):
        status, text = await asked(server, **{**good, **wrong})
        assert (status, "1158201444" in text) == (401, False)


@pytest.mark.parametrize("secret", [None, "", "another-secret"])
async def test_what_the_app_did_not_sign_is_refused(server: WhatsAppServer, heard: Heard, secret: str | None) -> None:
    body = json.dumps({"entry": []}).encode()
    signature = None if secret is None else sign(secret, body, FORMS["github"])

    assert await posted(server, body, signature) == 401
    assert await posted(server, body + b" ", sign(APP_SECRET, body, FORMS["github"])) == 401
    assert heard.inbound == []


async def test_another_app_speaks_for_its_own_numbers_alone(
    platform: WhatsAppRig, server: WhatsAppServer, heard: Heard, tmp_path: Path, clock: HurriedClock
) -> None:
    other, others = platform.channel(tmp_path, clock, "second"), Heard()
    await other.start(others)
    await until(lambda: others.account_id is not None)
    assert isinstance(other, WhatsAppChannel)
    webhook = platform.webhook = WhatsAppWebhook(clock)
    webhook.add(platform.channels["default"], Secret(APP_SECRET), Secret(VERIFY_TOKEN))
    webhook.add(other, Secret("another-secret"), Secret("another-token"))
    message = {**server.written_by(ADA), "id": "wamid.1", "type": "text", "text": {"body": "hi"}}

    for number in (NUMBER_ID, NUMBERS["second"]):
        value = {"metadata": {"phone_number_id": number}, "contacts": [], "messages": [message]}
        body = json.dumps({"entry": [{"changes": [{"field": "messages", "value": value}]}]}).encode()
        assert await posted(server, body, sign("another-secret", body, FORMS["github"])) == 200
    await other.stop()

    assert heard.inbound == []
    assert [each.address.account for each in others.inbound] == ["second"]


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"entry": [{}]}', b'{"entry": [{"changes": [1]}]}'])
async def test_what_is_no_delivery_is_refused(server: WhatsAppServer, body: bytes) -> None:
    assert await posted(server, body, sign(APP_SECRET, body, FORMS["github"])) == 400


async def test_a_person_goes_by_their_id_and_by_their_number_without_one(server: WhatsAppServer, heard: Heard) -> None:
    id = server.says("text", {"body": "hi"})
    server.says("text", {"body": "let me in"}, who=EVES_PHONE)
    await until(lambda: len(heard.inbound) == 2)

    ada, eve = heard.inbound
    assert isinstance(ada, InboundMessage)
    assert isinstance(eve, InboundMessage)
    assert (ada.address, ada.sender, ada.text, ada.message_id) == (WITH_ADA, BY_ADA, "hi", id)
    assert (ada.sender_name, ada.mentioned) == ("Ada", True)
    assert (eve.address.peer, eve.sender) == (EVES_PHONE, f"whatsapp:user:{EVES_PHONE}")


async def test_a_person_without_a_number_is_known_by_the_contact_beside_the_message(
    server: WhatsAppServer, heard: Heard
) -> None:
    contact = {"profile": {"name": "Ada", "username": "ada"}, "user_id": ADA}
    message = {"id": "wamid.x", "timestamp": "1", "type": "text", "text": {"body": "hi"}}
    server.deliver(messages=[message], contacts=[contact])

    assert (await one(heard)).sender == BY_ADA


async def test_each_kind_of_content_arrives(server: WhatsAppServer, heard: Heard) -> None:
    server.says("image", {"id": "1", "mime_type": "image/jpeg", "caption": "look"})
    server.says("audio", {"id": "2", "mime_type": "audio/ogg; codecs=opus", "voice": True})
    server.says("document", {"id": "3", "mime_type": "application/pdf", "filename": "a.pdf"})
    server.says("sticker", {"id": "4", "mime_type": "image/webp"})
    server.says("location", {"latitude": 52.5, "longitude": 13.4, "name": "Zoo", "address": "Berlin"})
    server.says("contacts", [{"name": {"formatted_name": "Ben"}, "phones": [{"phone": "+1 555"}]}])
    server.says("button", {"payload": "p", "text": "Yes"})
    server.says("order", {"catalog_id": "1"})
    await until(lambda: len(heard.inbound) == 8)

    image, voice, document, sticker, place, card, template, order = heard.inbound
    assert all(isinstance(each, InboundMessage) for each in heard.inbound)
    assert (image.text, image.media) == ("look", (Media(MediaKind.IMAGE, "1", "image/jpeg"),))  # type: ignore[union-attr]
    assert voice.media[0].voice  # type: ignore[union-attr]
    assert document.media[0].name == "a.pdf"  # type: ignore[union-attr]
    assert sticker.media[0].kind is MediaKind.STICKER  # type: ignore[union-attr]
    assert place.location == SharedLocation(52.5, 13.4, "Zoo, Berlin")  # type: ignore[union-attr]
    assert card.contacts == (Contact("Ben", "+1 555"),)  # type: ignore[union-attr]
    assert template.text == "Yes"  # type: ignore[union-attr]
    assert "'order'" in order.text  # type: ignore[union-attr]


async def test_reactions_edits_and_deletes_are_events(server: WhatsAppServer, heard: Heard) -> None:
    added = server.says("reaction", {"message_id": "wamid.1", "emoji": "👍"})
    removed = server.says("reaction", {"message_id": "wamid.1", "emoji": ""})
    edited = server.says("edit", {"original_message_id": "wamid.1", "message": {"type": "text", "text": {"body": "b"}}})
    deleted = server.says("revoke", {"original_message_id": "wamid.1"})
    await until(lambda: len(heard.inbound) == 4)

    assert heard.inbound == [
        ReactionChanged(WITH_ADA, added, BY_ADA, "Ada", message_id="wamid.1", emoji="👍"),
        ReactionChanged(WITH_ADA, removed, BY_ADA, "Ada", message_id="wamid.1", emoji="", added=False),
        MessageEdited(WITH_ADA, edited, BY_ADA, message_id="wamid.1", text="b"),
        MessageDeleted(WITH_ADA, deleted, BY_ADA, message_id="wamid.1"),
    ]


async def test_what_is_not_understood_is_left_out_and_the_rest_is_taken(server: WhatsAppServer, heard: Heard) -> None:
    written = server.written_by(ADA)
    server.deliver(
        messages=[
            {**written, "id": "1", "type": "text"},
            {**written, "id": "2", "type": "system", "system": {"body": "new number"}},
            {**written, "id": "3", "type": "unsupported", "unsupported": {"type": "edit"}},
            {**written, "id": "4", "type": "text", "text": {"body": "in a group"}, "group_id": "g"},
            {**written, "id": "5", "type": "text", "text": {"body": "hello"}},
        ],
        statuses=[{"id": "wamid.1"}],
    )
    server.deliver(number="999999", messages=[{**written, "id": "6", "type": "text", "text": {"body": "elsewhere"}}])
    await until(lambda: len(server.answers) == 2)

    assert [each.message_id for each in heard.inbound if isinstance(each, InboundMessage)] == ["5"]
    assert server.answers == [200, 200]


async def test_a_reply_quotes_what_was_sent_also_after_a_restart(
    platform: WhatsAppRig,
    server: WhatsAppServer,
    channel: WhatsAppChannel,
    heard: Heard,
    tmp_path: Path,
    clock: HurriedClock,
) -> None:
    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "Tea?"))
    (id,) = delivery.platform_ids
    await channel.stop()
    again = platform.channel(tmp_path, clock)
    await again.start(heard)

    server.says("text", {"body": "yes"}, context={"id": id, "from": "15550000000"})
    message = await one(heard)
    await again.stop()

    assert (message.reply_to, message.quoted) == (id, Quote("Tea?"))


async def test_a_value_that_is_too_long_for_a_button_comes_back_whole(
    platform: WhatsAppRig, server: WhatsAppServer, channel: WhatsAppChannel, heard: Heard
) -> None:
    value = "x" * 300
    await channel.send(OutboundMessage("1", WITH_ADA, "May I?", buttons=((Button("Yes", value),),)))

    await platform.presses("Yes")
    pressed = await one(heard)

    assert isinstance(pressed, ButtonPressed)
    assert (pressed.value, pressed.message_id) == (value, server.sent[0]["id"])


async def test_a_file_is_fetched_by_its_id_with_the_token(server: WhatsAppServer, channel: WhatsAppChannel) -> None:
    server.files["77"] = b"a picture"

    pieces = [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "77"))]

    assert b"".join(pieces) == b"a picture"


async def test_the_token_is_shown_to_no_other_server(server: WhatsAppServer, channel: WhatsAppChannel) -> None:
    server.files["77"] = b"a picture"
    server.file_root = server.url.replace("127.0.0.1", "localhost")

    with pytest.raises(HubError, match="not on its servers but on localhost"):
        [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "77"))]
