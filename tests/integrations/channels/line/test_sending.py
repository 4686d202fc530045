"""What goes out through LINE: by reply where that is free, once, and the outcome when LINE or the network fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest

from hub.core.schema import SchemaError
from hub.gateway.calls.routes import RouteTable
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import (
    Address,
    Button,
    ChannelState,
    ChatType,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
)
from hub.storage.homedir import Home
from integrations.channels.line import setup
from integrations.channels.line.channel import FRESH_S, GOOD_S, LineChannel
from integrations.channels.line.schema import CONFIG_SCHEMA
from integrations.channels.public_files import LIFE_S, PublicFiles
from tests.channels.kit import Heard, HurriedClock
from tests.channels.line_rig import LineRig
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.line_server import ADA, GROUP, PUBLIC_URL, SECRET, TOKEN, LineServer
from tests.until import until

WITH_ADA = Address("line", ADA)
SECTION = {"access_token": TOKEN, "channel_secret": SECRET}


def out(text: str = "hello", id: str = "row-1", **more: Any) -> OutboundMessage:
    return OutboundMessage(id, more.pop("address", WITH_ADA), text, **more)


async def wrote(server: LineServer, times: int = 1) -> None:
    """Let Ada write, each time with a reply token."""
    before = len(server.answers)
    for _ in range(times):
        server.says({"type": "text", "text": "hi"})
    await until(lambda: len(server.answers) == before + times)


async def test_an_answer_is_a_reply_while_its_token_is_fresh_and_else_pushed(
    server: LineServer, channel: LineChannel, clock: HurriedClock
) -> None:
    await wrote(server, 2)
    for n in range(3):
        await channel.send(out(id=f"row-{n}"))
    await wrote(server)
    await clock.sleep(FRESH_S + 1)
    await channel.send(out(id="late"))

    assert [each["by"] for each in server.sent] == ["reply", "reply", "push", "push"]


async def test_a_message_that_is_sent_twice_is_shown_once(server: LineServer, channel: LineChannel) -> None:
    first = await channel.send(out())
    again = await channel.send(out())

    assert again == first == Delivery(DeliveryState.DELIVERED, (server.sent[0]["id"],))
    assert len(server.sent) == 1


async def test_a_reply_whose_answer_was_lost_is_asked_about_with_its_token_also_after_a_restart(
    platform: LineRig,
    server: LineServer,
    channel: LineChannel,
    heard: Heard,
    tmp_path: Path,
    clock: HurriedClock,
) -> None:
    await wrote(server)
    server.fail(done=True)
    lost = await channel.send(out())
    await channel.stop()
    again = platform.channel(tmp_path, clock)
    heard.account_id = None
    await again.start(heard)
    await until(lambda: heard.account_id is not None)

    found = await again.send(out())
    await again.stop()

    assert (lost.state, found.state) == (DeliveryState.UNKNOWN, DeliveryState.DELIVERED)
    assert len(server.sent) == 1


async def test_nothing_is_sent_before_it_is_known_which_replies_were_tried(
    platform: LineRig, server: LineServer, tmp_path: Path, clock: HurriedClock
) -> None:
    class Slow(Heard):
        async def cursor(self, name: str = "position") -> str | None:
            reading.set()
            await asyncio.Event().wait()
            return None

    reading = asyncio.Event()
    channel = platform.channel(tmp_path, clock)
    await channel.start(Slow())
    await reading.wait()

    early = await channel.send(out())
    await channel.stop()

    assert (early.state, server.sent) == (DeliveryState.TRANSIENT, [])


async def test_a_reply_that_line_did_not_get_is_sent_with_its_token(server: LineServer, channel: LineChannel) -> None:
    await wrote(server)
    server.fail(status=502)

    assert (await channel.send(out())).state is DeliveryState.UNKNOWN
    assert (await channel.send(out())).state is DeliveryState.DELIVERED
    assert [each["by"] for each in server.sent] == ["reply"]


async def test_a_lost_reply_that_cannot_be_asked_about_in_time_is_never_doubled(
    server: LineServer, channel: LineChannel, clock: HurriedClock
) -> None:
    await wrote(server)
    server.fail(done=True)
    await channel.send(out())
    await clock.sleep(GOOD_S + 1)

    late = await channel.send(out())

    assert late.state is DeliveryState.PERMANENT
    assert "may have arrived" in (late.error or "")
    assert len(server.sent) == 1


async def test_a_token_that_line_no_longer_takes_costs_nothing_but_a_push(
    server: LineServer, channel: LineChannel
) -> None:
    await wrote(server)
    server.forget_tokens()

    assert (await channel.send(out())).state is DeliveryState.DELIVERED
    assert [each["by"] for each in server.asked] == ["reply", "push"]


@pytest.mark.parametrize(
    ("fault", "state", "says"),
    [
        ({"status": 400, "message": "Bad"}, DeliveryState.PERMANENT, "Bad (HTTP 400)"),
        ({"status": 403, "message": "Not available"}, DeliveryState.PERMANENT, "Not available"),
        ({"status": 429, "message": "The API rate limit has been exceeded."}, DeliveryState.TRANSIENT, "rate limit"),
        ({"status": 429, "message": "You have reached your monthly limit."}, DeliveryState.PERMANENT, "next month"),
        ({"status": 500, "message": "Internal"}, DeliveryState.UNKNOWN, "Internal"),
        ({"status": 502}, DeliveryState.UNKNOWN, "HTTP 502"),
        ({}, DeliveryState.UNKNOWN, "did not answer"),
    ],
)
async def test_each_failure_means_what_it_means(
    server: LineServer, channel: LineChannel, fault: dict[str, Any], state: DeliveryState, says: str
) -> None:
    server.fail(**fault)

    delivery = await channel.send(out())

    assert delivery.state is state
    assert says in (delivery.error or "")


@pytest.mark.parametrize(
    ("labels", "text", "kind"),
    [
        (["Yes", "No"], "May I?", "template"),
        (["Yes", "A label that is longer than LINE takes 🏠"], "May I?", "template"),
        (["1", "2", "3", "4", "5"], "Which?", "text"),
        (["Yes", "No"], "x" * 161, "text"),
    ],
)
async def test_choices_are_buttons_where_they_fit_and_else_quick_replies(
    server: LineServer, channel: LineChannel, labels: list[str], text: str, kind: str
) -> None:
    delivery = await channel.send(out(text, buttons=tuple((Button(each, f"v{each}"),) for each in labels)))

    assert delivery.state is DeliveryState.DELIVERED, delivery
    assert server.sent[0]["type"] == kind


async def test_an_answer_in_a_group_quotes_what_it_answers(server: LineServer, channel: LineChannel) -> None:
    id = server.says({"type": "text", "text": "hi", "quoteToken": "a-quote"}, group=GROUP)
    await until(lambda: bool(server.answers))
    address = Address("line", GROUP, chat_type=ChatType.GROUP)

    await channel.send(out("**bold**", reply_to=id, address=address, silent=True))

    (sent,) = server.sent
    assert (sent["text"], sent["quoteToken"], sent["silent"]) == ("bold", "a-quote", True)


async def test_typing_is_shown_to_one_person_and_not_again_at_once(
    server: LineServer, channel: LineChannel, clock: HurriedClock
) -> None:
    await channel.typing(Address("line", GROUP, chat_type=ChatType.GROUP))
    await channel.typing(WITH_ADA)
    await channel.typing(WITH_ADA)

    assert [each["chatId"] for each in server.typing] == [ADA]


async def test_what_the_account_lacks_is_said(server: LineServer, channel: LineChannel) -> None:
    server.settings |= {"chatMode": "chat", "active": False, "totalUsage": 200}

    found = await channel.probe()

    assert found["missing"] == [
        "It answers by hand: switch on Webhook in its response settings.",
        "Use webhook is off in the LINE Developers Console.",
        "The 200 messages of this month are used up.",
    ]


# --- files ---


@pytest.mark.parametrize(
    ("kind", "mime", "content", "sent_as"),
    [
        (MediaKind.IMAGE, "image/png", b"x", "image"),
        (MediaKind.IMAGE, "image/png", b"x" * 1_000_001, "text"),
        (MediaKind.IMAGE, "image/webp", b"x", "text"),
        (MediaKind.AUDIO, "audio/mp4", b"....mvhd" + bytes(12) + b"\0\0\x03\xe8\0\0\x09\xc4", "audio"),
        (MediaKind.FILE, "application/pdf", b"x", "text"),
    ],
)
async def test_a_file_is_shown_where_line_can_and_else_a_link(
    server: LineServer,
    channel: LineChannel,
    tmp_path: Path,
    *,
    kind: MediaKind,
    mime: str,
    content: bytes,
    sent_as: str,
) -> None:
    path = tmp_path / "a file.bin"
    path.write_bytes(content)

    await channel.send(out("", media=(OutboundMedia(kind, str(path), mime),)))
    await until(lambda: set(server.downloads) == {content})

    (sent,) = server.sent
    assert sent["type"] == sent_as
    assert sent.get("duration", 2_500) == 2_500


async def served(platform: LineRig, address: str) -> tuple[int, bytes, str]:
    async with (
        aiohttp.ClientSession() as client,
        client.get(address.replace(PUBLIC_URL, platform.host.url)) as answer,
    ):
        return answer.status, await answer.read(), answer.content_type


async def test_a_file_is_served_to_whoever_has_its_address_for_a_day_and_over_restarts(
    platform: LineRig, tmp_path: Path, clock: HurriedClock
) -> None:
    path = tmp_path / "page.html"
    path.write_text("<script>")
    platform.files["line"] = PublicFiles("line", JsonStorage(tmp_path / "files.json"), clock)
    media = OutboundMedia(MediaKind.FILE, str(path), "text/html")
    address = await platform.files["line"].offer(media, PUBLIC_URL)
    platform.files["line"] = again = PublicFiles("line", JsonStorage(tmp_path / "files.json"), clock)
    await again.load()

    assert await served(platform, address) == (200, b"<script>", "application/octet-stream")
    assert (await served(platform, address.replace("/files/", "/files/x")))[0] == 404
    assert address.split("/")[-2] not in (tmp_path / "files.json").read_text()
    for _ in range(int(LIFE_S // 3_599)):
        assert (await served(platform, address))[0] == 200
        await clock.sleep(3_599)
    await clock.sleep(100)
    assert (await served(platform, address))[0] == 404


async def test_what_was_written_into_a_file_later_is_not_served(
    platform: LineRig, tmp_path: Path, clock: HurriedClock
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("for the guest")
    platform.files["line"] = files = PublicFiles("line", JsonStorage(tmp_path / "files.json"), clock)
    address = await files.offer(OutboundMedia(MediaKind.FILE, str(path), "text/plain"), PUBLIC_URL)

    path.write_text("for the family")

    assert (await served(platform, address))[0] == 404


async def test_a_file_that_was_replaced_is_not_served(platform: LineRig, tmp_path: Path, clock: HurriedClock) -> None:
    path, secret = tmp_path / "a.txt", tmp_path / "secrets.yaml"
    path.write_text("a")
    secret.write_text("b")
    platform.files["line"] = files = PublicFiles("line", JsonStorage(tmp_path / "files.json"), clock)
    address = await files.offer(OutboundMedia(MediaKind.FILE, str(path), "text/plain"), PUBLIC_URL)

    path.unlink()
    path.symlink_to(secret)
    assert (await served(platform, address))[0] == 404
    path.unlink()
    path.hardlink_to(secret)
    assert (await served(platform, address))[0] == 404


# --- set-up ---


async def test_each_account_is_set_up_with_its_webhook(rig: Rig, tmp_path: Path) -> None:
    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, registrations = host_on(parts, "line")
    async with LineServer() as server:
        good = {**SECTION, "api_root": server.url, "data_root": server.url}
        await setup(host, CONFIG_SCHEMA([{**good, "account": "broken", "access_token": "revoked"}, good]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state is ChannelState.FAILED)
        media = {each.channel.account: each.channel.limits.media for each in rig.channels.all()}
        routes = [parts.gateway.routes.match("POST", f"/line/{name}") for name in states]
        await registrations.undo_all()

    assert all(routes)
    assert media["default"] == frozenset()
    assert rig.channels.all() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"channel_secret": None}, "channel_secret"),
        ({"channel_secret": "short"}, "guessed"),
        ({"account": "../x"}, "lower-case"),
        ({"public_url": "http://hub.test"}, "https"),
    ],
)
def test_a_section_that_cannot_work_says_why(change: dict[str, Any], says: str) -> None:
    section = {key: value for key, value in {**SECTION, **change}.items() if value is not None}

    with pytest.raises(SchemaError, match=says):
        CONFIG_SCHEMA([section])
