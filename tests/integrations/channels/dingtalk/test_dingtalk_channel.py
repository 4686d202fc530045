"""What only DingTalk has: addresses that end, limits of groups, tokens, cards."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.contract import Address, ChatType, Delivery, DeliveryState, MediaKind, OutboundMedia, OutboundMessage
from integrations.channels.dingtalk.cards import DingTalkCardChannel
from integrations.channels.dingtalk.channel import PER_MINUTE, DingTalkChannel
from integrations.channels.http_api import PlatformError
from tests.channels.dingtalk_rig import PING_S, DingTalkRig, account_on
from tests.channels.kit import Heard, HurriedClock
from tests.integrations.channels.dingtalk.test_dingtalk_events import SOUND
from tests.servers.dingtalk_server import ADA, GROUP, DingTalkServer
from tests.until import until

TO_ADA = Address("dingtalk", ADA)
TO_GROUP = Address("dingtalk", GROUP, chat_type=ChatType.GROUP)


async def send(channel: DingTalkChannel, text: str = "hello", to: Address = TO_ADA, **more: Any) -> Delivery:
    return await channel.send(OutboundMessage("id-1", to, text, **more))


async def until_heard(heard: Heard, count: int = 1) -> Any:
    await until(lambda: len(heard.inbound) >= count)
    return heard.inbound[-1]


# --- where an answer goes ---


async def test_an_answer_goes_to_the_address_of_its_conversation_until_that_ends(
    channel: DingTalkChannel, server: DingTalkServer, platform: DingTalkRig, heard: Heard, clock: HurriedClock
) -> None:
    await platform.says("hello")
    await until_heard(heard)

    await send(channel, "at once")
    await clock.sleep(3_000)
    await clock.sleep(2_390)
    await send(channel, "later")

    assert [(each["text"], each["by"]) for each in server.sent] == [("at once", "session"), ("later", "robot")]


async def test_an_address_that_ended_early_is_left_for_the_robot(
    channel: DingTalkChannel, server: DingTalkServer, platform: DingTalkRig, heard: Heard
) -> None:
    await platform.says("hello", group=True)
    await until_heard(heard)
    server.sessions.clear()

    for _ in range(2):
        assert (await send(channel, to=TO_GROUP)).state is DeliveryState.DELIVERED

    assert [each["by"] for each in server.sent] == ["robot", "robot"]
    assert len(server.calls("/sendBySession")) == 1


async def test_an_address_on_other_servers_is_never_used(
    channel: DingTalkChannel, server: DingTalkServer, heard: Heard
) -> None:
    for url in ("http://127.0.0.1:1/x", "https://dingtalk.com.evil.example/x", "http://oapi.dingtalk.com/x"):
        await server.tell(server.message("hello", sessionWebhook=url))
    await until_heard(heard, 3)

    await send(channel)

    assert [each["by"] for each in server.sent] == ["robot"]


async def test_who_never_wrote_is_written_to_by_the_robot(channel: DingTalkChannel, server: DingTalkServer) -> None:
    assert (await send(channel)).platform_ids[0].startswith("key")
    assert (await send(channel, to=TO_GROUP)).state is DeliveryState.DELIVERED
    assert [each["place"] for each in server.sent] == [ADA, GROUP]


async def test_nobody_with_that_id_is_an_error_that_stays(channel: DingTalkChannel) -> None:
    assert (await send(channel, to=Address("dingtalk", "nobody"))).state is DeliveryState.PERMANENT
    elsewhere = Address("dingtalk", "cidOther", chat_type=ChatType.GROUP)
    assert (await send(channel, to=elsewhere)).state is DeliveryState.PERMANENT


async def test_too_much_to_one_person_waits(channel: DingTalkChannel, server: DingTalkServer) -> None:
    server.flow_controlled.add(ADA)

    delivery = await send(channel)

    assert (delivery.state, delivery.retry_after_s) == (DeliveryState.TRANSIENT, 60.0)


async def test_a_group_gets_no_more_messages_a_minute_than_dingtalk_allows(
    channel: DingTalkChannel, server: DingTalkServer, clock: HurriedClock
) -> None:
    for _ in range(PER_MINUTE):
        assert (await send(channel, to=TO_GROUP)).state is DeliveryState.DELIVERED

    refused = await send(channel, to=TO_GROUP)
    assert refused.state is DeliveryState.TRANSIENT
    assert 50 < (refused.retry_after_s or 0) <= 60
    assert (await send(channel)).state is DeliveryState.DELIVERED

    await clock.sleep(61)
    assert (await send(channel, to=TO_GROUP)).state is DeliveryState.DELIVERED
    assert len(server.sent) == PER_MINUTE + 2


@pytest.mark.parametrize(
    ("status", "code", "state"),
    [
        (403, "Forbidden.AccessDenied.QpsLimitForApi", DeliveryState.TRANSIENT),
        (403, "Forbidden.AccessDenied.AccessTokenPermissionDenied", DeliveryState.PERMANENT),
        (400, "invalidParameter", DeliveryState.PERMANENT),
        (503, "ServiceUnavailable", DeliveryState.TRANSIENT),
        (429, "Throttling", DeliveryState.TRANSIENT),
    ],
)
async def test_refusals_are_sorted(
    channel: DingTalkChannel, server: DingTalkServer, status: int, code: str, state: DeliveryState
) -> None:
    server.fail("/batchSend", status, body={"code": code, "message": "as told"})

    delivery = await send(channel)

    assert delivery.state is state
    assert code in str(delivery.error)


async def test_a_lost_answer_of_the_robots_api_is_not_sent_again(
    channel: DingTalkChannel, server: DingTalkServer
) -> None:
    server.fail("/batchSend", done=True)

    assert (await send(channel)).state is DeliveryState.UNKNOWN


# --- files ---


async def test_a_picture_a_voice_note_and_a_file_are_sent(
    channel: DingTalkChannel, server: DingTalkServer, tmp_path: Path
) -> None:
    sent = {"image/png": (MediaKind.IMAGE, b"x"), "audio/ogg": (MediaKind.AUDIO, SOUND)}
    sent |= {"application/pdf": (MediaKind.FILE, b"y")}
    for mime, (kind, content) in sent.items():
        path = tmp_path / "a.pdf"
        path.write_bytes(content)
        delivery = await send(channel, "", media=(OutboundMedia(kind, str(path), mime, voice=True),))
        assert delivery.state is DeliveryState.DELIVERED, delivery

    assert [each["kind"] for each in server.sent] == ["image", "voice", "file"]
    assert server.sent[1]["duration"] == "3000"
    assert server.sent[2]["fileName"] == "a.pdf"


async def test_a_file_that_is_refused_is_not_sent(
    channel: DingTalkChannel, server: DingTalkServer, tmp_path: Path
) -> None:
    (tmp_path / "empty").write_bytes(b"")

    delivery = await send(channel, "", media=(OutboundMedia(MediaKind.FILE, str(tmp_path / "empty"), "text/plain"),))

    assert (delivery.state, server.sent) == (DeliveryState.PERMANENT, [])


async def test_a_file_is_fetched_by_its_code_and_from_dingtalks_storage_alone(
    channel: DingTalkChannel, server: DingTalkServer, platform: DingTalkRig, heard: Heard
) -> None:
    await platform.says("", media=b"content")
    found = await until_heard(heard)

    content = b"".join([piece async for piece in channel.fetch(found.address, found.media[0])])
    assert (content, server.fetched) == (b"content", ["code"])

    server.fail("/download", 200, body={"downloadUrl": "https://evil.example/x"})
    with pytest.raises(PlatformError, match=r"evil\.example"):
        [piece async for piece in channel.fetch(found.address, found.media[0])]


# --- connection and tokens ---


async def test_a_token_is_renewed_before_it_ends_and_when_it_is_refused(
    channel: DingTalkChannel, server: DingTalkServer, clock: HurriedClock
) -> None:
    await send(channel)
    server.tokens.clear()
    await send(channel)
    for _ in range(3):
        await clock.sleep(2_400)
    await send(channel)

    assert len(server.calls("/accessToken")) == 3
    assert len(server.sent) == 3


async def test_a_ping_is_echoed_and_each_frame_acknowledged(channel: DingTalkChannel, server: DingTalkServer) -> None:
    id = await server.push("SYSTEM", "ping", json.dumps({"opaque": "0xCAFE"}))
    await server.push("EVENT", "user_add_org", "{}")
    await until(lambda: len(server.acknowledged) == 2)

    ping = next(each for each in server.acknowledged if each["headers"]["messageId"] == id)
    assert json.loads(ping["data"]) == {"opaque": "0xCAFE"}


async def test_another_connection_is_opened_at_once_when_dingtalk_asks(
    channel: DingTalkChannel, server: DingTalkServer, platform: DingTalkRig, heard: Heard, clock: HurriedClock
) -> None:
    await server.push("SYSTEM", "disconnect", json.dumps({"reason": "persistent connection is timeout"}))
    await until(lambda: server.connections >= 2)
    server._waiting.clear()
    await platform.says("hello")

    assert (await until_heard(heard)).text == "hello"
    assert heard.errors == []


async def test_a_secret_that_is_refused_takes_a_person(
    channel: DingTalkChannel, server: DingTalkServer, heard: Heard
) -> None:
    server.revoke()

    await until(lambda: any("docs/channels/dingtalk.md" in each for each in heard.errors))
    assert (await channel.probe())["ok"] is False


@pytest.mark.parametrize("frame", ["null", "[]", '{"type": "CALLBACK", "headers": 1}', '{"type": 1, "headers": {}}'])
async def test_a_frame_that_is_none_is_left_out(
    channel: DingTalkChannel, server: DingTalkServer, platform: DingTalkRig, heard: Heard, frame: str
) -> None:
    assert server._socket is not None
    await server._socket.send_str(frame)
    await server.tell({"msgtype": "text"})
    await platform.says("hello")

    assert (await until_heard(heard)).text == "hello"
    await until(lambda: len(server.acknowledged) == 2)


async def test_people_are_found_by_a_part_of_their_names(channel: DingTalkChannel, server: DingTalkServer) -> None:
    server.names |= {"u9": "Adam", "u10": "Bob"}

    found = await channel.look_up("ada", 5)

    assert [(each.peer, each.name) for each in found] == [(ADA, "Ada"), ("u9", "Adam")]


# --- cards ---


@pytest.fixture
async def cards(server: DingTalkServer, clock: HurriedClock, heard: Heard) -> AsyncIterator[DingTalkCardChannel]:
    channel = DingTalkCardChannel(account_on(server), clock, "a1.schema", ping_s=PING_S)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()


async def test_with_a_template_answers_are_cards_that_can_be_changed(
    cards: DingTalkCardChannel, channel: DingTalkChannel, server: DingTalkServer
) -> None:
    for number, to in enumerate((TO_ADA, TO_GROUP)):
        delivery = await cards.send(OutboundMessage(f"id-{number}", to, "It"))
        for _ in range(2):
            changed = await cards.edit(to, delivery.platform_ids[0], "It ends")
            assert changed.state is DeliveryState.DELIVERED, changed

    assert [(each["text"], each["by"], each["place"]) for each in server.sent] == [
        ("It ends", "card", ADA),
        ("It ends", "card", GROUP),
    ]
    assert Capability.EDIT in capabilities_of(cards)
    assert Capability.EDIT not in capabilities_of(channel)


async def test_a_card_that_is_refused_goes_as_a_text(cards: DingTalkCardChannel, server: DingTalkServer) -> None:
    server.fail("/createAndDeliver", 403, body={"code": "Forbidden.AccessDenied", "message": "no permission"})

    sent = await cards.send(OutboundMessage("id-1", TO_ADA, "It"))

    assert (sent.state, server.sent[0]["by"]) == (DeliveryState.DELIVERED, "robot")
    assert (await cards.edit(TO_ADA, sent.platform_ids[0], "It ends")).state is DeliveryState.PERMANENT


async def test_a_card_whose_answer_was_lost_is_not_sent_again_as_a_text(
    cards: DingTalkCardChannel, server: DingTalkServer
) -> None:
    server.fail("/createAndDeliver", done=True)

    assert (await cards.send(OutboundMessage("id-1", TO_ADA, "It"))).state is DeliveryState.UNKNOWN
    assert len(server.sent) == 1


async def test_a_card_that_could_not_be_delivered_is_an_error(
    cards: DingTalkCardChannel, server: DingTalkServer
) -> None:
    delivery = await cards.send(OutboundMessage("id-1", Address("dingtalk", "nobody"), "It"))

    assert (delivery.state, server.sent) == (DeliveryState.PERMANENT, [])
