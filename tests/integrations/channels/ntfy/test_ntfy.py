"""ntfy against a local double of it: what only it has, and what happens when it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.schema import SchemaError
from hub.core.secret import Secret
from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.contract import (
    Address,
    Button,
    ButtonPressed,
    ChannelState,
    DeliveryState,
    InboundMessage,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
)
from hub.nodes.notification import notification
from hub.nodes.phones import Phone
from hub.nodes.shown import Shown
from integrations.channels.ntfy.api import NtfyApi, lines
from integrations.channels.ntfy.channel import NtfyAccount, NtfyChannel
from integrations.channels.ntfy.events import peer_of
from integrations.channels.ntfy.notices import NtfyNotices
from integrations.channels.ntfy.schema import CONFIG_SCHEMA
from tests.integrations.channels.rig import Rig
from tests.servers.ntfy_server import ADAS, EVES, TOKEN, NtfyServer

WITH_ADA = Address("ntfy", peer_of(ADAS))
CHOICES = ((Button("Ja, gern", "approve:1"), Button("Nein", "deny:1")),)


@pytest.fixture
async def server() -> AsyncIterator[NtfyServer]:
    async with NtfyServer() as server:
        yield server


@pytest.fixture
async def channel(rig: Rig, server: NtfyServer) -> NtfyChannel:
    channel = account(rig, server)
    await rig.add(channel)
    await rig.until(lambda: bool(server.sinces))
    return channel


def account(rig: Rig, server: NtfyServer, **more: Any) -> NtfyChannel:
    given = {"token": Secret(TOKEN), **more}
    return NtfyChannel(NtfyAccount("default", server.url, Secret(f"{ADAS},{EVES}"), **given), rig.clock)


def out(text: str = "hello", **more: Any) -> OutboundMessage:
    return OutboundMessage(new_id(), WITH_ADA, text, **more)


# --- in ---


async def test_a_topic_is_a_person_and_its_name_is_told_to_nobody(
    rig: Rig, server: NtfyServer, channel: NtfyChannel
) -> None:
    said = await server.say("Milk is out", title="Fridge")
    await server.say("hi", EVES)

    await rig.until(lambda: len(rig.taken) == 2)

    first, second = rig.taken
    assert isinstance(first, InboundMessage)
    assert (first.message_id, first.text, first.mentioned) == (said["id"], "Fridge\nMilk is out", True)
    assert (first.sender, second.sender) == (f"ntfy:topic:{peer_of(ADAS)}", f"ntfy:topic:{peer_of(EVES)}")
    assert ADAS not in repr(rig.taken)
    assert ADAS not in (first.address.account_id or "")


async def test_a_file_on_the_server_is_fetched_and_one_elsewhere_is_not(
    rig: Rig, server: NtfyServer, channel: NtfyChannel
) -> None:
    file = server.add_file(b"abc", "a.txt")
    await server.say("You received a file: a.txt", attachment=file)
    await server.say("look", attachment={"name": "b.txt", "url": "http://127.0.0.1:1/b.txt"})

    await rig.until(lambda: len(rig.taken) == 2)

    here, elsewhere = rig.taken
    assert isinstance(here, InboundMessage)
    assert isinstance(elsewhere, InboundMessage)
    assert (here.text, elsewhere.text) == ("", "look")
    assert [piece async for piece in channel.fetch(WITH_ADA, here.media[0])] == [b"abc"]
    with pytest.raises(HubError, match="not on its servers"):
        await anext(channel.fetch(WITH_ADA, elsewhere.media[0]))


@pytest.mark.parametrize(
    "path", ["v1/account", f"{EVES}/json?poll=1", "file/../v1/account", "file/..", "file/x/../../y"]
)
async def test_a_sender_has_nothing_else_fetched_with_the_login(server: NtfyServer, path: str) -> None:
    api = NtfyApi(server.url, Secret("tk_hub"), None, None)

    with pytest.raises(HubError, match="none of its files"):
        await anext(api.fetch(f"{server.url}/{path}"))
    await api.close()


async def test_a_very_long_event_holds_up_nothing(rig: Rig, server: NtfyServer, channel: NtfyChannel) -> None:
    await server.say("long", title="x" * 3_000_000)
    await server.say("next")

    await rig.until(lambda: rig.texts() == ["next"])


async def test_an_event_that_comes_in_pieces_is_whole() -> None:
    class Pieces:
        async def iter_any(self) -> AsyncIterator[bytes]:
            for piece in (b"a" * 200_000, b"b\nc", b"\n", b"not ended"):
                yield piece

    pieces: Any = Pieces()

    assert [line async for line in lines(pieces)] == [b"a" * 200_000 + b"b", b"c"]


async def test_a_restart_reads_on_from_the_last_message_and_a_first_start_reads_nothing_old(
    rig: Rig, server: NtfyServer
) -> None:
    server.message(ADAS, "long ago")
    channel = account(rig, server)
    await rig.add(channel)
    await rig.until(lambda: bool(server.sinces))
    said = [await server.say(text) for text in ("1", "2")]
    await rig.until(lambda: rig.texts() == ["1", "2"])
    await rig.remove(channel)
    await server.say("3")

    await rig.add(account(rig, server))
    await rig.until(lambda: rig.texts() == ["1", "2", "3"])

    assert server.sinces[-1] in [each["id"] for each in said]  # that the second was taken may not have been kept


async def test_what_the_server_forgot_since_is_taken_once(rig: Rig, server: NtfyServer, channel: NtfyChannel) -> None:
    await server.say("1")
    await rig.until(lambda: rig.texts() == ["1"])
    await rig.remove(channel)
    server.messages.clear()
    await server.say("2")

    await rig.add(account(rig, server))

    await rig.until(lambda: rig.texts() == ["1", "2"])


async def test_malformed_events_are_left_out(rig: Rig, server: NtfyServer, channel: NtfyChannel) -> None:
    for line in (b"{no json", b"[]", b"7", b'{"event": "message"}', b'{"event": "message", "topic": 7, "id": "x"}'):
        await server.raw(line)
    await server.say("of another topic", "other")
    await server.say("fine")

    await rig.until(lambda: bool(rig.texts()))

    assert rig.texts() == ["fine"]


@pytest.mark.parametrize(
    ("token", "says"), [(Secret("tk_wrong"), "refused the account"), (None, "may not be read by this account")]
)
async def test_what_takes_a_person_is_said(rig: Rig, server: NtfyServer, token: Secret | None, says: str) -> None:
    channel = account(rig, server, token=token)

    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert says in rig.error(channel)
    assert ADAS not in rig.error(channel)


async def test_a_topic_that_may_not_be_read_is_missing(rig: Rig, server: NtfyServer, channel: NtfyChannel) -> None:
    assert (await channel.probe())["missing"] == []

    closed = account(rig, server, token=None)
    await rig.remove(channel)
    await rig.add(closed, connected=False)

    assert (await closed.probe())["missing"] == ["It may not read 2 of its topics."]


# --- out ---


async def test_a_message_carries_the_mark_of_the_assistant_and_its_priority(
    server: NtfyServer, channel: NtfyChannel
) -> None:
    await channel.send(out("**hello** ü"))
    await channel.send(out("quiet", silent=True))

    loud, quiet = server.messages
    assert (loud["message"], loud["tags"], "priority" in loud) == ("**hello** ü", ["robot"], False)
    assert quiet["priority"] == 2


@pytest.mark.parametrize(
    ("text", "title", "message"),
    [
        ("# Einkäufe\n\n- Milk", "Einkäufe", "- Milk"),
        ("\n### Closed ###\nthen", "Closed", "then"),
        ("# Bell\x07\nmore", "Bell\x07", "more"),
        ("# Nothing else", None, "# Nothing else"),
        ("#hashtag\nand more", None, "#hashtag\nand more"),
        ("first\n# later\nmore", None, "first\n# later\nmore"),
        (f"# {'x' * 201}\nmore", None, f"# {'x' * 201}\nmore"),
    ],
)
async def test_a_heading_at_the_beginning_is_the_title_and_the_message_is_found_with_it(
    server: NtfyServer, channel: NtfyChannel, text: str, title: str | None, message: str
) -> None:
    server.fail(done=True)
    sent = out(text)
    assert (await channel.send(sent)).state is DeliveryState.UNKNOWN

    (shown,) = server.messages
    found = await channel.find(sent, float(shown["time"]))

    assert (shown.get("title"), shown["message"]) == (title, message)
    assert found is not None
    assert found.platform_ids == (shown["id"],)
    assert await channel.find(out(message if title else f"# T\n{text}"), float(shown["time"])) is None


@pytest.mark.parametrize(
    ("status", "code", "state", "wait"),
    [
        (429, 42901, DeliveryState.TRANSIENT, 10.0),
        (429, 42908, DeliveryState.TRANSIENT, 3_600.0),
        (413, 41301, DeliveryState.PERMANENT, None),
        (500, 50001, DeliveryState.TRANSIENT, None),
        (502, 0, DeliveryState.UNKNOWN, None),
    ],
)
async def test_a_refusal_is_sorted(
    server: NtfyServer, channel: NtfyChannel, status: int, code: int, state: DeliveryState, wait: float | None
) -> None:
    server.fail(status, code)

    delivery = await channel.send(out())

    assert (delivery.state, delivery.retry_after_s) == (state, wait)


async def test_a_message_whose_answer_was_lost_is_found_by_its_words_and_another_with_them_is_not_it(
    server: NtfyServer, channel: NtfyChannel
) -> None:
    await channel.send(out("ok"))
    since = float(server.messages[-1]["time"])
    second = out("ok")
    assert await channel.find(second, since) is None

    server.fail(done=True)
    assert (await channel.send(second)).state is DeliveryState.UNKNOWN

    found = await channel.find(second, since)
    assert found is not None
    assert found.platform_ids == (server.messages[-1]["id"],)


async def test_a_file_is_an_attachment_with_its_name(tmp_path: Path, server: NtfyServer, channel: NtfyChannel) -> None:
    (tmp_path / "a").write_bytes(b"A")
    for name in ("list.txt", "Einkäufe.txt", "two\nlines.txt"):
        media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a"), "text/plain", name)
        assert (await channel.send(out("", media=(media,)))).state is DeliveryState.DELIVERED

    names = [each["attachment"]["name"] for each in server.messages]
    assert names == ["list.txt", "Einkäufe.txt", "two\nlines.txt"]
    assert list(server.files.values()) == [b"A"] * 3


async def test_a_topic_that_was_taken_out_is_written_to_no_more(channel: NtfyChannel) -> None:
    gone = OutboundMessage(new_id(), Address("ntfy", "gone"), "hello")

    assert (await channel.send(gone)).state is DeliveryState.PERMANENT
    assert await channel.find(gone, 0.0) is None


# --- buttons ---


async def test_a_pressed_button_writes_to_the_topic_and_is_known_again_after_a_restart(
    rig: Rig, server: NtfyServer
) -> None:
    server.token = None
    channel = account(rig, server, token=None)
    await rig.add(channel)
    (id,) = (await channel.send(out("May I?", buttons=CHOICES))).platform_ids
    await rig.remove(channel)
    await rig.add(account(rig, server, token=None))

    assert await server.press(server.messages[0], "Ja, gern") == 200
    await rig.until(lambda: bool(rig.taken))

    (pressed,) = rig.taken
    assert isinstance(pressed, ButtonPressed)
    assert (pressed.message_id, pressed.value) == (id, "approve:1")
    assert server.messages[-1]["message"] == "Ja, gern"


async def test_a_button_of_one_topic_is_none_in_another(rig: Rig, server: NtfyServer) -> None:
    server.token = None
    channel = account(rig, server, token=None)
    await rig.add(channel)
    await rig.until(lambda: bool(server.sinces))
    await channel.send(out("May I?", buttons=CHOICES))
    tags = server.messages[0]["actions"][0]["headers"]["Tags"].split(",")

    await server.say("Ja, gern", EVES, tags=tags)
    await server.say("Ja, gern", tags=["pressed", "unknown"])
    await server.say("fine")
    await rig.until(lambda: bool(rig.taken))

    assert rig.texts() == ["fine"]
    assert len(rig.taken) == 1


async def test_buttons_never_show_the_hubs_own_token(rig: Rig, server: NtfyServer, channel: NtfyChannel) -> None:
    assert Capability.BUTTONS not in capabilities_of(channel)
    other = account(rig, server, button_token=Secret("tk_only-to-write"))
    assert Capability.BUTTONS in capabilities_of(other)
    await rig.remove(channel)
    await rig.add(other)

    await other.send(out("May I?", buttons=CHOICES))

    assert server.messages[0]["actions"][0]["headers"]["Authorization"] == "Bearer tk_only-to-write"
    assert TOKEN not in repr(server.messages)


@pytest.mark.parametrize("topics", ["", "a b", "ok,", "x" * 65, ",".join("x" * 21)])
def test_a_topic_that_ntfy_would_not_take_is_refused(topics: str) -> None:
    with pytest.raises(SchemaError):
        CONFIG_SCHEMA([{"topics": topics}])


async def test_a_notification_of_an_automation_has_its_buttons_urgency_and_picture(server: NtfyServer) -> None:
    phones: list[Phone] = []
    nodes = SimpleNamespace(add_phone=phones.append, carry=lambda carrier: bool)
    host: Any = SimpleNamespace(domain="ntfy", lan_url="https://hub.local:18789", nodes=nodes)
    config = NtfyAccount("a", server.url, Secret(ADAS), Secret(TOKEN), None, None, None)
    notices = NtfyNotices(host, config, [{"phone": "Ada's phone", "topic": Secret(ADAS)}])
    actions = [
        {"action": "OPEN", "title": "Öffnen"},
        {"action": "URI", "title": "Look", "uri": "/devices"},
        {"action": "REPLY", "title": "Tell", "behavior": "textInput"},
    ]
    note = notification("Rings", "Tür", {"actions": actions, "push": {"sound": {"critical": 1}}})
    shown = Shown("id", "ab" * 32, "p", "d", "owner", 0, buttons=note.buttons, media={"image": "/local/a.jpg"})

    taken = await notices.carry(phones[0], note, shown)
    other = await notices.carry(replace(phones[0], source="nodes"), note, shown)

    (message,) = server.messages
    assert (taken, other) == (True, False)
    assert (message["title"], message["message"], message["priority"]) == ("Tür", "Rings", 5)
    press, view = message["actions"]
    assert (press["label"], press["method"], view["url"]) == ("Öffnen", "POST", "https://hub.local:18789/devices")
    assert press["url"] == f"https://hub.local:18789{shown.path('far-0')}"
