"""Zalo's bots: what comes by poll and by webhook, and the outcome of what is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from hub.core.errors import HubError, Unavailable
from hub.core.schema import SchemaError
from hub.core.secret import Secret
from hub.gateway.calls.routes import RouteTable
from hub.messaging.contract import (
    Address,
    ChannelState,
    ChatType,
    DeliveryState,
    Inbound,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receipt,
)
from hub.storage.homedir import Home
from integrations.channels.zalo import setup
from integrations.channels.zalo.channel import ZaloChannel
from integrations.channels.zalo.events import inbound_of
from integrations.channels.zalo.schema import CONFIG_SCHEMA
from tests.channels.kit import Heard, HurriedClock
from tests.channels.zalo_rig import SECRET, ZaloRig
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.zalo_server import ADA, GROUP, TOKEN, ZaloServer
from tests.until import until

WITH_ADA = Address("zalo", ADA)


class FullAtFirst(Heard):
    """A receiver that cannot store the first message at first."""

    full = 2

    async def __call__(self, inbound: Inbound) -> Receipt:
        if self.full:
            self.full -= 1
            raise Unavailable("the disk is full")
        return await super().__call__(inbound)


@pytest.fixture
async def platform() -> AsyncIterator[ZaloRig]:
    rig = ZaloRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: ZaloRig) -> ZaloServer:
    return platform.server


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(platform: ZaloRig, tmp_path: Path, heard: Heard) -> AsyncIterator[ZaloChannel]:
    channel = platform.channel_of(platform.config(), tmp_path, HurriedClock())
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()


async def heard_of(heard: Heard, count: int = 1) -> list[Any]:
    await until(lambda: len(heard.inbound) == count)
    return heard.inbound


@pytest.mark.usefixtures("channel")
async def test_each_kind_of_message_is_read(server: ZaloServer, heard: Heard) -> None:
    server.says(text="hello")
    server.says(event="image", photo_url="https://photo.zdn.vn/1.jpg", caption="look")
    server.says(event="sticker", sticker="x", url="https://zalo.me/s")
    server.says(event="unsupported")
    server.says(group=GROUP, text="@Home tea?")
    server.says(group=GROUP, text="tea?")

    text, photo, sticker, other, mention, plain = await heard_of(heard, 6)

    assert (text.text, text.sender, text.sender_name, text.address) == ("hello", f"zalo:user:{ADA}", "Ada", WITH_ADA)
    assert 1e9 < text.sent_at < 1e10
    assert (photo.text, photo.media[0].reference) == ("look", "https://photo.zdn.vn/1.jpg")
    assert sticker.text == "(a sticker)"
    assert "'unsupported'" in other.text
    assert (mention.text, mention.mentioned, mention.address.chat_type) == ("tea?", True, ChatType.GROUP)
    assert not plain.mentioned


@pytest.mark.parametrize("kind", [{}, {"chat_type": "group"}, {"chat_type": "COMMUNITY"}])
def test_a_chat_of_an_unknown_kind_is_not_a_direct_one(kind: dict[str, str]) -> None:
    message = {"from": {"id": "1"}, "chat": {"id": "2", **kind}, "message_id": "3", "date": 1, "text": "hello"}
    found = inbound_of({"event_name": "message.text.received", "message": message}, "default", "Bot")

    assert found is not None
    assert (found.address.chat_type, found.mentioned) == (ChatType.GROUP, False)


@pytest.mark.usefixtures("channel")
async def test_bots_and_what_is_not_understood_are_left_out(server: ZaloServer, heard: Heard) -> None:
    by_a_bot: dict[str, Any] = {"from": {"id": "9", "is_bot": True}}
    server.says(text="beep", **by_a_bot)
    server.update({"event_name": "message.text.received"})
    server.update({"event_name": "bot.added", "message": {"from": {}, "chat": {}}})
    server.says(text="hello")

    (message,) = await heard_of(heard)

    assert message.text == "hello"


async def test_what_cannot_be_stored_is_kept_until_it_can_for_zalo_gives_it_once(
    platform: ZaloRig, server: ZaloServer, tmp_path: Path
) -> None:
    heard = FullAtFirst()
    channel = platform.channel_of(platform.config(), tmp_path, HurriedClock())
    await channel.start(heard)
    server.says(text="hello")

    (message,) = await heard_of(heard)
    await channel.stop()

    assert message.text == "hello"
    assert heard.full == 0


async def test_by_webhook_zalo_delivers_and_is_not_polled(
    platform: ZaloRig, server: ZaloServer, tmp_path: Path, heard: Heard
) -> None:
    config = replace(platform.config(), webhook_secret=Secret(SECRET))
    channel = platform.channel_of(config, tmp_path, HurriedClock())
    await channel.start(heard)
    await until(lambda: server.hook is not None)

    server.says(text="hello")
    (message,) = await heard_of(heard)
    server.token = "0:revoked"
    await until(lambda: bool(heard.errors))
    await channel.stop()

    assert message.text == "hello"
    assert "Unauthorized" in heard.errors[-1]


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ({"code": 400}, DeliveryState.PERMANENT),
        ({"code": 403}, DeliveryState.PERMANENT),
        ({"code": 429}, DeliveryState.TRANSIENT),
        ({"code": 500}, DeliveryState.TRANSIENT),
        ({"status": 502}, DeliveryState.UNKNOWN),
        ({"done": True}, DeliveryState.UNKNOWN),
    ],
)
async def test_each_failure_means_what_it_means(
    server: ZaloServer, channel: ZaloChannel, fault: dict[str, Any], state: DeliveryState
) -> None:
    server.fail(**fault)

    assert (await channel.send(OutboundMessage("1", WITH_ADA, "hello"))).state is state
    assert len(server.asked) == 1


async def test_the_token_is_in_no_error(server: ZaloServer, channel: ZaloChannel) -> None:
    server.fail()

    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "hello"))

    assert TOKEN not in str(delivery.error)


@pytest.mark.parametrize(
    ("mime", "size", "field"),
    [("image/png", 9, "photo"), ("image/png", 5_000_001, "text"), ("application/pdf", 9, "text")],
)
async def test_a_picture_is_shown_and_another_file_is_a_link(
    server: ZaloServer, channel: ZaloChannel, tmp_path: Path, mime: str, size: int, field: str
) -> None:
    (tmp_path / "a.bin").write_bytes(b"x" * size)

    await channel.send(
        OutboundMessage("1", WITH_ADA, "", media=(OutboundMedia(MediaKind.IMAGE, str(tmp_path / "a.bin"), mime),))
    )
    await until(lambda: server.downloads == [b"x" * size])

    assert field in server.sent[0]


async def test_pictures_are_fetched_from_zalos_servers_alone(server: ZaloServer, channel: ZaloChannel) -> None:
    server.photos["1"] = b"a picture"

    pieces = [each async for each in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, f"{server.url}/photo/1"))]
    with pytest.raises(HubError, match="not on its servers"):
        [each async for each in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "https://zdn.vn.evil.test/1"))]

    assert b"".join(pieces) == b"a picture"


async def test_each_bot_is_set_up(rig: Rig, tmp_path: Path) -> None:
    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, registrations = host_on(parts, "zalo")
    async with ZaloServer() as server:
        good = {"token": TOKEN, "api_root": server.url}
        hooked = {"account": "hooked", "public_url": "https://hub.test", "webhook_secret": "correct horse battery"}
        await setup(host, CONFIG_SCHEMA([{**good, "account": "broken", "token": "revoked"}, good, {**good, **hooked}]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state is ChannelState.FAILED)
        routed = [parts.gateway.routes.match("POST", f"/zalo/{each}") is not None for each in ("default", "hooked")]
        await registrations.undo_all()

    assert routed == [False, True]
    assert rig.channels.all() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [({"token": None}, "token"), ({"webhook_secret": "x"}, "guessed"), ({"public_url": "http://hub.test"}, "https")],
)
def test_a_section_that_cannot_work_says_why(change: dict[str, Any], says: str) -> None:
    section = {key: value for key, value in {"token": TOKEN, **change}.items() if value is not None}

    with pytest.raises(SchemaError, match=says):
        CONFIG_SCHEMA([section])
