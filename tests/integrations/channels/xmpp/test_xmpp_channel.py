"""XMPP against a real prosody: what only it has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.ids import new_id
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ChatType,
    Delivery,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMessage,
    Receipt,
)
from integrations.channels.xmpp.channel import XmppChannel
from integrations.channels.xmpp.connection import NO_TLS, XmppAccount
from tests.channels.kit import ADA, EVE, Heard, HurriedClock
from tests.channels.xmpp_rig import TIMING, XmppRig
from tests.gateway.certificates import issued
from tests.servers import shared
from tests.servers.prosody import DOMAIN, OTHER, PASSWORD, ROOMS, Prosody
from tests.until import until


@pytest.fixture
async def rig() -> AsyncIterator[XmppRig]:
    rig = XmppRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(rig: XmppRig, heard: Heard, tmp_path: Path) -> AsyncIterator[XmppChannel]:
    channel = rig.channel(tmp_path, HurriedClock())
    assert isinstance(channel, XmppChannel)
    await channel.start(heard)
    await until(lambda: heard.account_id)
    yield channel
    await channel.stop()


async def test_nobody_there_is_a_permanent_error(channel: XmppChannel) -> None:
    nobody = Address("xmpp", f"nobody{new_id()[-8:].lower()}@{DOMAIN}")

    delivery = await channel.send(OutboundMessage(new_id(), nobody, "hello"))

    assert delivery.state is DeliveryState.PERMANENT, delivery


async def test_a_room_that_it_is_not_in_refuses(channel: XmppChannel) -> None:
    room = Address("xmpp", f"other{new_id()[-8:].lower()}@rooms.{DOMAIN}", chat_type=ChatType.GROUP)

    delivery = await channel.send(OutboundMessage(new_id(), room, "hello"))

    assert delivery.state is DeliveryState.PERMANENT, delivery


async def test_what_was_sent_is_found_by_its_id_and_what_was_not_is_not(channel: XmppChannel, rig: XmppRig) -> None:
    for group in (False, True):
        sent = OutboundMessage(new_id(), rig.address(group=group), "hello")
        delivery = await channel.send(sent)
        since = Clock().time()

        assert await channel.find(sent, since) == delivery
        assert await channel.find(OutboundMessage(new_id(), rig.address(group=group), "hello"), since) is None


@pytest.mark.parametrize("who", [ADA, EVE])
async def test_who_may_write_gets_a_receipt_once_a_message_is_stored_and_a_stranger_none(
    channel: XmppChannel, rig: XmppRig, heard: Heard, who: str
) -> None:
    heard.strangers.append(rig.identity(EVE))
    asked = await rig.asks_for_receipt("hello", who)
    await until(lambda: heard.inbound)
    await channel.send(OutboundMessage(new_id(), rig.address(who), "an answer"))

    await until(lambda: rig.shows(who) == ["an answer"])

    assert {*rig.receipts(who)} == ({asked} if who == ADA else set())  # one from the archive gets another


async def test_a_message_whose_receipt_came_was_delivered_and_only_the_receivers_counts(
    channel: XmppChannel, rig: XmppRig, heard: Heard
) -> None:
    sent = OutboundMessage(new_id(), rig.address(), "its fate is unknown, and no archive has it")

    await rig.gives_receipt(sent.id, EVE)
    await rig.says("first", EVE)
    await until(lambda: heard.inbound)
    assert await channel.find(sent, Clock().time()) is None
    await rig.gives_receipt(sent.id, ADA)
    await rig.says("then", ADA)
    await until(lambda: len(heard.inbound) == 2)

    assert await channel.find(sent, Clock().time()) == Delivery(DeliveryState.DELIVERED, (sent.id,))


async def test_a_receipt_is_asked_for_from_people_and_not_in_rooms(channel: XmppChannel, rig: XmppRig) -> None:
    await channel.send(OutboundMessage(new_id(), rig.address(), "alone"))
    await channel.send(OutboundMessage(new_id(), rig.address(group=True), "in the room"))

    await until(lambda: rig.shows(group=True) == ["in the room"])

    assert rig.asked_for_receipts() == ["alone"]


async def test_messages_in_rooms_are_corrected_and_taken_back(channel: XmppChannel, rig: XmppRig) -> None:
    address = rig.address(group=True)
    first = await channel.send(OutboundMessage(new_id(), address, "before"))
    second = await channel.send(OutboundMessage(new_id(), address, "oops"))

    await channel.edit(address, first.platform_ids[0], "after")
    await channel.delete(address, second.platform_ids[0])

    await until(lambda: rig.shows(group=True) == ["after"])


def messages(heard: Heard) -> list[InboundMessage]:
    """Return the messages, each once: what comes while the archive is read may be in it too, under the same id."""
    return list({each.message_id: each for each in heard.inbound if isinstance(each, InboundMessage)}.values())


@pytest.fixture(scope="module")
def encrypting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prosody, Path]]:
    """A server with a certificate of an own authority, and the certificate of that."""
    authority, *certificate = issued(tmp_path_factory.mktemp("tls"), DOMAIN)
    with Prosody((certificate[0], certificate[1])) as server:
        yield server, authority


@pytest.mark.parametrize("direct_tls", [False, True])
@pytest.mark.parametrize(
    ("domain", "trusted", "error"),
    [
        (DOMAIN, True, ""),
        (DOMAIN, False, "unable to get local issuer certificate"),
        (OTHER, True, "Hostname mismatch"),
    ],
)
async def test_the_servers_certificate_must_be_good_for_the_domain(
    heard: Heard,
    encrypting: tuple[Prosody, Path],
    monkeypatch: pytest.MonkeyPatch,
    direct_tls: bool,
    domain: str,
    trusted: bool,
    error: str,
) -> None:
    server, authority = encrypting
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    jid, port = server.add("ada", domain=domain), server.tls_port if direct_tls else server.port
    account = XmppAccount("default", jid, Secret(PASSWORD), "127.0.0.1", port, direct_tls=direct_tls)
    channel = XmppChannel(account, HurriedClock())
    await channel.start(heard)

    await until(lambda: heard.errors or heard.account_id)
    await channel.stop()

    assert heard.account_id == (None if error else jid)
    assert error in "".join(heard.errors[:1])


async def test_a_line_that_breaks_loses_nothing_and_doubles_nothing(
    channel: XmppChannel, rig: XmppRig, heard: Heard
) -> None:
    texts = [str(number) for number in range(12)]

    async def listens() -> None:
        for text in texts:
            await rig.says(text, group=int(text) % 2 == 1)

    async def speaks() -> None:
        for text in texts:
            sent = await channel.send(OutboundMessage(new_id(), rig.address(group=int(text) % 2 == 1), text))
            assert sent.state is DeliveryState.DELIVERED, sent
            rig.proxy.cut()

    await asyncio.gather(listens(), speaks())
    await until(lambda: len(messages(heard)) == len(texts))
    await until(lambda: len(rig.shows()) == len(rig.shows(group=True)) == len(texts) // 2)

    assert sorted(each.text.removeprefix(f"{rig.nick}: ") for each in messages(heard)) == sorted(texts)
    assert rig.shows() + rig.shows(group=True) == texts[::2] + texts[1::2]
    assert heard.errors == []  # it was one session


@pytest.mark.parametrize("bookmarks", [True, False])
async def test_bookmarked_rooms_are_joined_where_an_account_says_so(
    rig: XmppRig, heard: Heard, bookmarks: bool
) -> None:
    room, other = rig.address(group=True).peer, f"other{new_id()[-8:].lower()}@{ROOMS}"
    await rig.bookmarks({room: "true", other: "false"})
    channel = XmppChannel(rig.account(bookmarks=bookmarks), HurriedClock(), TIMING)
    await channel.start(heard)
    await until(lambda: heard.account_id)

    assert [each.peer for each in await channel.look_up("", 5)] == ([room] if bookmarks else [])
    await channel.stop()


async def test_a_room_that_cannot_be_joined_holds_up_nothing_and_one_that_let_it_go_is_entered_again(
    rig: XmppRig, heard: Heard
) -> None:
    room, nowhere = rig.address(group=True).peer, "room@nowhere.invalid"
    channel = XmppChannel(rig.account(rooms=(nowhere, room)), HurriedClock(), TIMING)
    await channel.start(heard)
    await until(lambda: heard.account_id)
    before = (await channel.probe())["missing"]

    rig.leaves_room(channel)
    await until(lambda: (rig.nick in rig.occupants()) is False)
    await until(lambda: rig.nick in rig.occupants())
    await rig.says("hello", group=True)
    await until(lambda: messages(heard))
    await channel.stop()

    assert [each.startswith(f"{nowhere} was not joined: ") for each in before] == [True]
    assert heard.errors == []


async def test_two_look_into_the_archive_at_once(channel: XmppChannel, rig: XmppRig) -> None:
    sent = [OutboundMessage(new_id(), rig.address(group=each), "hello") for each in (False, True, False, True)]
    delivered = [await channel.send(each) for each in sent]

    found = await asyncio.gather(*(channel.find(each, Clock().time()) for each in sent))

    assert found == delivered


@pytest.mark.parametrize("forgets", [True, False])
async def test_a_session_that_cannot_be_resumed_is_followed_by_another(
    channel: XmppChannel, rig: XmppRig, heard: Heard, forgets: bool
) -> None:
    if forgets:
        rig.proxy.end_sessions()
    else:
        rig.proxy.greeting = b"HTTP/1.1 502 Bad Gateway"
        rig.proxy.cut()
        await rig.says("are you there?")
    await until(lambda: heard.errors)
    rig.proxy.greeting = None
    await rig.says("and now?")

    await until(lambda: {each.text for each in messages(heard)} >= {"and now?"})

    assert [each.text for each in messages(heard)] == ["and now?"] if forgets else ["are you there?", "and now?"]
    assert ("forgot the session" in heard.errors[0]) is forgets


class SlowlyStored(Heard):
    """A hub that stores nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may_store = asyncio.Event(), asyncio.Event()

    async def __call__(self, inbound: Inbound) -> Receipt:
        self.asked.set()
        await self.may_store.wait()
        return await super().__call__(inbound)


async def test_the_server_hears_that_a_message_was_taken_once_it_is_stored(rig: XmppRig, tmp_path: Path) -> None:
    channel, hub = rig.channel(tmp_path, HurriedClock()), SlowlyStored()
    await channel.start(hub)
    await until(lambda: hub.account_id)
    await rig.says("hello")
    await hub.asked.wait()
    for _ in range(2):  # what came before is acknowledged
        await channel.probe()
    before = rig.proxy.acknowledged()
    await rig.says("what comes then is not taken either")
    await channel.probe()

    assert rig.proxy.acknowledged() == before
    hub.may_store.set()
    await until(lambda: rig.proxy.acknowledged() >= before + 2)
    await channel.stop()


async def test_what_waits_to_be_stored_does_not_come_again_with_another_line(rig: XmppRig, tmp_path: Path) -> None:
    channel, hub = rig.channel(tmp_path, HurriedClock()), SlowlyStored()
    await channel.start(hub)
    await until(lambda: hub.account_id)
    for text in ("1", "2", "3"):
        await rig.says(text)
    await hub.asked.wait()
    rig.proxy.cut()
    await channel.probe()
    hub.may_store.set()
    await rig.says("4")
    await until(lambda: len(messages(hub)) == 4)
    await channel.probe()
    await channel.probe()
    await channel.stop()

    assert hub.errors == []  # a server ends the session of who acknowledges more than it said


async def test_what_is_said_while_the_line_breaks_is_sent(channel: XmppChannel, rig: XmppRig) -> None:
    channel._connection.cut()
    sent = await channel.send(OutboundMessage(new_id(), rig.address(), "hello"))

    assert sent.state is DeliveryState.DELIVERED
    await until(lambda: rig.shows() == ["hello"])


async def test_who_leaves_is_gone_from_the_room_at_once(channel: XmppChannel, rig: XmppRig) -> None:
    await until(lambda: rig.nick in rig.occupants())

    await channel.stop()

    await until(lambda: rig.nick not in rig.occupants())


async def test_who_was_put_out_of_a_room_stays_out(channel: XmppChannel, rig: XmppRig) -> None:
    await until(lambda: rig.nick in rig.occupants())
    await rig.removes()
    await until(lambda: rig.nick not in rig.occupants())
    asked = rig.proxy.pings()
    await until(lambda: rig.proxy.pings() > asked + 2)  # it has looked for rooms to enter since

    assert (await channel.probe())["missing"] == [f"{rig.address(group=True).peer} was not joined: it was removed"]


async def test_a_server_that_does_not_encrypt_is_refused(heard: Heard) -> None:
    jid = shared.prosody().add(f"tls{new_id()[-8:].lower()}")
    account = XmppAccount("default", jid, Secret(PASSWORD), "127.0.0.1", shared.prosody().port)
    channel = XmppChannel(account, HurriedClock())
    await channel.start(heard)

    await until(lambda: heard.errors)
    await channel.stop()

    assert heard.errors == [f"{jid}: {NO_TLS}"]


async def test_characters_that_xml_has_not_are_left_out(channel: XmppChannel, rig: XmppRig) -> None:
    await channel.send(OutboundMessage(new_id(), rig.address(), "a\x08b\x1b\ufffe<&>"))

    await until(lambda: rig.shows() == ["ab<&>"])


async def test_a_file_on_another_server_is_not_fetched(channel: XmppChannel, rig: XmppRig) -> None:
    for url in ("https://evil.example/a.png", "http://10.0.0.1/a.png", "file:///etc/passwd"):
        with pytest.raises(HubError):
            [piece async for piece in channel.fetch(rig.address(), Media(MediaKind.IMAGE, url))]


async def test_people_of_the_room_are_known_by_their_addresses(
    channel: XmppChannel, rig: XmppRig, heard: Heard
) -> None:
    await rig.says("hello", EVE, group=True)
    await until(lambda: heard.inbound)

    message = heard.inbound[0]  # the archive may show it once more
    assert isinstance(message, InboundMessage)
    assert message.sender == rig.identity(EVE)
    assert [each.peer for each in await channel.look_up("ROOM", 5)] == [rig.address(group=True).peer]
