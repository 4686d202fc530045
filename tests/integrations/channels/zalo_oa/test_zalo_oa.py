"""Zalo's official accounts: their tokens, what Zalo delivers, and the outcome of what is sent."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hub.core.errors import HubError
from hub.core.schema import SchemaError
from hub.core.secret import Secret
from hub.gateway.calls.routes import RouteTable
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import (
    Address,
    ChannelState,
    DeliveryState,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Quote,
    SharedLocation,
)
from hub.storage.homedir import Home
from integrations.channels.reconnecting import AccountRefused
from integrations.channels.zalo_oa import setup
from integrations.channels.zalo_oa.channel import ZaloOaChannel
from integrations.channels.zalo_oa.events import is_genuine, signature
from integrations.channels.zalo_oa.login import ZaloLogin
from integrations.channels.zalo_oa.schema import CONFIG_SCHEMA
from tests.channels.kit import Heard, HurriedClock
from tests.channels.zalo_oa_rig import ZaloOaRig
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.zalo_oa_server import ADA, APP_ID, APP_SECRET, EVE, OA_SECRET, ZaloOaServer
from tests.until import ShiftedClock, until

WITH_ADA = Address("zalo_oa", ADA)


@pytest.fixture
async def platform() -> AsyncIterator[ZaloOaRig]:
    rig = ZaloOaRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: ZaloOaRig) -> ZaloOaServer:
    return platform.server


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(platform: ZaloOaRig, tmp_path: Path, heard: Heard) -> AsyncIterator[ZaloOaChannel]:
    channel = platform.channel_of(tmp_path, HurriedClock())
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()


def login_on(server: ZaloOaServer, folder: Path, clock: ShiftedClock, refresh_token: str) -> ZaloLogin:
    kept = JsonStorage(folder / "tokens.json")
    return ZaloLogin(server.url, APP_ID, Secret(APP_SECRET), Secret(refresh_token), kept, clock)


# --- tokens ---


async def test_a_token_is_renewed_once_a_day_and_over_restarts_with_the_token_that_came_last(
    server: ZaloOaServer, tmp_path: Path
) -> None:
    first, clock = server.refresh_token, ShiftedClock()
    login = login_on(server, tmp_path, clock, first)
    tokens = [await login.token(), await login.token()]
    await login.close()
    again = login_on(server, tmp_path, clock, first)
    tokens.append(await again.token())
    clock.skip(server.life_s)
    renewed = await again.token()
    await again.close()

    assert len(set(tokens)) == 1
    assert renewed == server.access_token != tokens[0]
    assert server.renewals == 2


async def test_another_refresh_token_in_the_configuration_takes_the_place_of_a_spent_one(
    server: ZaloOaServer, tmp_path: Path
) -> None:
    clock = ShiftedClock()
    login = login_on(server, tmp_path, clock, server.refresh_token)
    await login.token()
    server.refresh_token = "from-the-explorer"
    clock.skip(server.life_s)
    with pytest.raises(AccountRefused, match="Get another refresh_token"):
        await login.token()
    await login.close()
    again = login_on(server, tmp_path, clock, "from-the-explorer")

    assert await again.token() == server.access_token
    await again.close()


async def test_an_access_token_that_ends_early_is_renewed_in_the_midst(
    server: ZaloOaServer, channel: ZaloOaChannel
) -> None:
    server.access_token = "another"

    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "hello"))

    assert delivery.state is DeliveryState.DELIVERED
    assert server.renewals == 2


async def test_an_account_without_a_token_fails_and_says_so(
    server: ZaloOaServer, channel: ZaloOaChannel, heard: Heard
) -> None:
    server.revoke()

    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "hello"))
    await until(lambda: bool(heard.errors))

    assert delivery.state is DeliveryState.PERMANENT
    assert "Get another refresh_token" in heard.errors[0]


# --- in ---


def test_a_signature_is_over_app_time_and_secret() -> None:
    now = time.time()
    stamp = str(int(now * 1_000))
    body = b'{"message":{"text":"\\"timestamp\\":\\"1\\""},"timestamp":"%s"}' % stamp.encode()
    good = {"x-zevent-signature": "mac=" + signature(APP_ID, body, stamp, OA_SECRET)}

    assert is_genuine(body, good, APP_ID, OA_SECRET, now)
    assert not is_genuine(body + b" ", good, APP_ID, OA_SECRET, now)
    assert not is_genuine(body, good, "1" + APP_ID, OA_SECRET, now)
    assert not is_genuine(body, good, APP_ID, OA_SECRET, now + 14 * 3_600)
    assert not is_genuine(b"{}", good, APP_ID, OA_SECRET, now)
    assert not is_genuine(body, {"x-zevent-signature": "\xff"}, APP_ID, OA_SECRET, now)


@pytest.mark.usefixtures("channel")
async def test_each_kind_of_message_is_read(server: ZaloOaServer, heard: Heard) -> None:
    def part(type: str, **payload: Any) -> list[dict[str, Any]]:
        return [{"type": type, "payload": payload}]

    server.says(text="hello")
    server.says(kind="image", attachments=part("image", url="https://f.zdn.vn/1.jpg", thumbnail="x"), text="look")
    server.says(kind="audio", attachments=part("audio", url="https://f.zdn.vn/1.amr"))
    server.says(kind="location", attachments=part("location", coordinates={"latitude": "10.7", "longitude": "106.6"}))
    server.says(kind="link", attachments=part("link", url="https://x.test", description="x"))
    server.says(kind="sticker", attachments=part("sticker", id="1", url="https://f.zdn.vn/s.png"))
    await until(lambda: len(heard.inbound) == 6)

    text, image, voice, place, link, sticker = cast(list[InboundMessage], heard.inbound)
    assert (text.text, text.sender, text.sender_name) == ("hello", f"zalo_oa:user:{ADA}", "Ada")
    assert (image.text, image.media) == ("look", (Media(MediaKind.IMAGE, "https://f.zdn.vn/1.jpg"),))
    assert voice.media[0].voice
    assert place.location == SharedLocation(10.7, 106.6)
    assert (link.text, sticker.text) == ("https://x.test", "(a sticker)")


@pytest.mark.usefixtures("channel")
async def test_its_own_messages_and_what_is_not_understood_are_left_out(server: ZaloOaServer, heard: Heard) -> None:
    server.happens({"event_name": "oa_send_text", "sender": {"id": server.oa}, "message": {"msg_id": "1", "text": "?"}})
    server.happens({"event_name": "follow", "follower": {"id": ADA}})
    server.happens({"event_name": "user_send_text"})
    server.says(text="hello")
    await until(lambda: len(server.answers) == 4)

    assert [each.text for each in heard.inbound if isinstance(each, InboundMessage)] == ["hello"]
    assert set(server.answers) == {200}


@pytest.mark.usefixtures("channel")
async def test_a_stranger_is_not_looked_up(server: ZaloOaServer, heard: Heard) -> None:
    heard.strangers.append(f"zalo_oa:user:{EVE}")
    server.says(EVE, text="hello")
    await until(lambda: bool(heard.inbound))

    assert server.named == []


async def test_a_reply_quotes_what_was_sent(server: ZaloOaServer, channel: ZaloOaChannel, heard: Heard) -> None:
    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "Tea?"))
    server.says(text="yes", quote_msg_id=delivery.platform_ids[0])
    await until(lambda: bool(heard.inbound))
    (message,) = heard.inbound

    assert isinstance(message, InboundMessage)
    assert message.quoted == Quote("Tea?")


async def test_files_are_fetched_from_zalos_servers_alone(channel: ZaloOaChannel) -> None:
    with pytest.raises(HubError, match="not on its servers"):
        [each async for each in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "https://zdn.vn.evil.test/1"))]


# --- out ---


@pytest.mark.parametrize(
    ("fault", "state", "says"),
    [
        ({"code": -230}, DeliveryState.PERMANENT, "7 days"),
        ({"code": -213}, DeliveryState.PERMANENT, "do not follow"),
        ({"code": -201}, DeliveryState.PERMANENT, "as told (code -201)"),
        ({"code": -32}, DeliveryState.TRANSIENT, "-32"),
        ({"status": 502}, DeliveryState.UNKNOWN, "502"),
        ({"status": 429}, DeliveryState.TRANSIENT, "429"),
        ({"done": True}, DeliveryState.UNKNOWN, "did not answer"),
    ],
)
async def test_each_failure_means_what_it_means(
    server: ZaloOaServer, channel: ZaloOaChannel, fault: dict[str, Any], state: DeliveryState, says: str
) -> None:
    server.fail(**fault)

    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "hello"))

    assert delivery.state is state
    assert says in (delivery.error or "")


async def test_what_may_have_arrived_is_looked_up_and_no_older_one_is_taken_for_it(
    server: ZaloOaServer, channel: ZaloOaChannel
) -> None:
    message = OutboundMessage("2", WITH_ADA, "**OK**")
    await channel.send(OutboundMessage("1", WITH_ADA, "OK"))
    missing = await channel.find(message, time.time())
    server.fail(done=True)
    await channel.send(message)

    found = await channel.find(message, time.time())

    assert missing is None
    assert found is not None
    assert found.platform_ids == (server.sent[1]["id"],)
    assert await channel.find(message, time.time()) == found  # the outbox may be killed before it knows
    assert await channel.find(OutboundMessage("3", WITH_ADA, "OK"), time.time()) is None


@pytest.mark.parametrize(
    ("mime", "size", "taken"),
    [("image/png", 9, True), ("image/png", 1_000_001, False), ("application/pdf", 9, True), ("video/mp4", 9, False)],
)
async def test_a_file_is_uploaded_where_zalo_takes_it_and_else_a_link(
    platform: ZaloOaRig, channel: ZaloOaChannel, tmp_path: Path, *, mime: str, size: int, taken: bool
) -> None:
    (tmp_path / "a.bin").write_bytes(b"x" * size)
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.bin"), mime)
    bare = platform.channel_of(tmp_path, HurriedClock(), public_url=None)
    await bare.start(Heard())

    await channel.send(OutboundMessage("1", WITH_ADA, "", media=(media,)))
    await until(lambda: platform.uploads() == [b"x" * size])
    without = await bare.send(OutboundMessage("2", WITH_ADA, "", media=(media,)))
    await bare.stop()

    assert (len(platform.server.uploaded) >= 1) is taken
    assert (without.state is DeliveryState.DELIVERED) is taken


# --- set-up ---


async def test_each_account_is_set_up_with_its_webhook(rig: Rig, tmp_path: Path) -> None:
    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, registrations = host_on(parts, "zalo_oa")
    async with ZaloOaServer() as server:
        good = {**section(server.refresh_token), "api_root": server.url, "oauth_root": server.url}
        await setup(host, CONFIG_SCHEMA([{**good, "account": "broken", "refresh_token": "spent"}, good]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state is ChannelState.FAILED)
        route = parts.gateway.routes.match("POST", "/zalo_oa/default")
        await registrations.undo_all()

    assert route is not None
    assert rig.channels.all() == []


def section(refresh_token: str = "x") -> dict[str, Any]:
    return {"app_id": APP_ID, "app_secret": APP_SECRET, "oa_secret": OA_SECRET, "refresh_token": refresh_token}


@pytest.mark.parametrize(
    ("change", "says"),
    [({"oa_secret": "x"}, "guessed"), ({"app_id": "app"}, "digits"), ({"refresh_token": None}, "refresh_token")],
)
def test_a_section_that_cannot_work_says_why(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        CONFIG_SCHEMA([{key: value for key, value in {**section(), **change}.items() if value is not None}])
