"""The IRC channel against a real ngircd, behind a proxy that fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import (
    Address,
    ChatType,
    Delivery,
    DeliveryState,
    MembershipChanged,
    OutboundMessage,
)
from integrations.channels.irc.channel import IrcChannel
from integrations.channels.irc.connection import IrcAccount, IrcTiming
from tests.integrations.channels.receiving import Collected, HastyClock
from tests.servers.ngircd import IrcPerson, Ngircd, free_nick
from tests.servers.tcp_proxy import TcpProxy
from tests.until import until

PATIENT = IrcTiming(connect_s=20.0, silence_s=20.0, answer_s=20.0)


@dataclass
class IrcRig:
    """A bot, somebody who talks with it in private and in a room, and what the hub sees."""

    proxy: TcpProxy
    ada: IrcPerson
    room: str
    nick: str = field(default_factory=lambda: free_nick("bot"))
    hub: Collected = field(default_factory=Collected)
    channel: IrcChannel | None = None

    async def start(self, clock: Clock | None = None, timing: IrcTiming = PATIENT, **more: object) -> IrcChannel:
        fixed = {"name": "default", "host": "127.0.0.1", "nick": self.nick, "port": self.proxy.port, "tls": False}
        account = IrcAccount(**(fixed | {"channels": (self.room,), "lines_per_second": 100.0} | more))  # type: ignore[arg-type]
        self.channel = IrcChannel(account, clock or HastyClock(), timing)
        await self.channel.start(self.hub)
        await self.connected()
        return self.channel

    async def connected(self) -> None:
        def is_in() -> bool:
            connection = self.channel._connection if self.channel is not None else None
            return connection is not None and bool(connection.joined)

        await until(is_in)

    async def send(self, text: str, target: str | None = None, id: str = "1") -> Delivery:
        assert self.channel is not None
        return await self.channel.send(OutboundMessage(id, Address("irc", target or self.ada.nick), text))


@pytest.fixture
async def rig(ngircd: Ngircd) -> AsyncIterator[IrcRig]:
    room = f"#{free_nick()}"
    async with TcpProxy(ngircd.port) as proxy:
        rig = IrcRig(proxy, await ngircd.person(None, room), room)
        yield rig
        if rig.channel is not None:
            await rig.channel.stop()
        await rig.ada.close()


async def test_a_private_message_is_received_and_answered(rig: IrcRig) -> None:
    await rig.start()

    rig.ada.say(rig.nick, "Hello there")
    await until(lambda: rig.hub.messages)
    sent = await rig.send("Hello **Ada**", rig.hub.messages[0].address.peer)

    (heard,) = rig.hub.messages
    assert (heard.text, heard.address.peer, heard.address.chat_type) == ("Hello there", rig.ada.nick, ChatType.DIRECT)
    assert sent.state is DeliveryState.DELIVERED
    await rig.ada.settle()
    assert rig.ada.said(rig.nick) == ["Hello \x02Ada\x02"]


async def test_a_channel_is_a_group_in_which_the_nick_is_a_mention(rig: IrcRig) -> None:
    await rig.start()
    for text in ("soup?", f"{rig.nick.upper()}: soup?", f"x{rig.nick}x", "\x01ACTION waves\x01", "\x01VERSION\x01"):
        rig.ada.say(rig.room, text)
    rig.ada.write(f"NOTICE {rig.room} :{rig.nick} is noticed")
    rig.ada.say(rig.room, "end")
    await until(lambda: rig.hub.texts[-1:] == ["end"])
    await rig.send("here", rig.room)
    await rig.ada.settle()

    assert rig.hub.texts == ["soup?", f"{rig.nick.upper()}: soup?", f"x{rig.nick}x", "waves", "end"]
    assert [each.mentioned for each in rig.hub.messages] == [False, True, False, False, False]
    assert {each.address.peer for each in rig.hub.messages} == {rig.room}
    assert {each.address.chat_type for each in rig.hub.messages} == {ChatType.GROUP}
    assert rig.ada.said(rig.nick, rig.room) == ["here"]


async def test_joins_and_parts_are_events(rig: IrcRig, ngircd: Ngircd) -> None:
    await rig.start()
    bob = await ngircd.person(None, rig.room)
    bob.write(f"PART {rig.room}")
    await until(lambda: len(rig.hub.of(MembershipChanged)) == 2)

    assert [each.joined for each in rig.hub.of(MembershipChanged)] == [True, False]
    await bob.close()


async def test_nobody_is_known_by_a_nick_unless_nicks_are_trusted(rig: IrcRig) -> None:
    await rig.start()
    rig.ada.say(rig.nick, "one")
    await until(lambda: rig.hub.messages)
    assert rig.channel is not None
    await rig.channel.stop()
    await rig.start(trust_nicks=True)
    rig.ada.say(rig.nick, "two")
    await until(lambda: len(rig.hub.messages) == 2)

    guest, known = (each.sender for each in rig.hub.messages)
    assert guest.startswith(f"irc:guest:{rig.ada.nick}!")
    assert known.startswith(f"irc:nick:{rig.ada.nick}!")


async def test_a_nick_that_is_taken_gets_a_line_behind_it(rig: IrcRig) -> None:
    rig.nick = rig.ada.nick
    await rig.start()

    rig.ada.say(f"{rig.ada.nick}_", "hello")
    await until(lambda: rig.hub.texts == ["hello"])

    assert rig.channel is not None
    assert (await rig.channel.probe())["nick"] == f"{rig.ada.nick}_"


async def test_a_long_text_is_cut_into_lines_that_nobody_cuts_again(rig: IrcRig) -> None:
    await rig.start()
    words = " ".join(f"wörd{number}" for number in range(400))

    sent = await rig.send(f"{words}\n\nend", rig.room)
    await rig.ada.settle()

    lines = rig.ada.said(rig.nick, rig.room)
    assert sent.state is DeliveryState.DELIVERED
    assert " ".join(lines) == f"{words} end"
    assert max(len(line) for line in rig.proxy.lines) <= 400


@pytest.mark.parametrize(
    "text", ["hi\r\nQUIT :bye", "hi\nQUIT", "hi\x00\rJOIN #other", "\x01VERSION\x01", "hi\r\nPRIVMSG #other :x"]
)
async def test_no_text_becomes_a_command(rig: IrcRig, text: str) -> None:
    await rig.start()

    sent = await rig.send(text)
    await rig.ada.settle()

    assert sent.state is DeliveryState.DELIVERED
    commands = {line.split()[0] for line in rig.proxy.lines}
    assert commands <= {b"CAP", b"NICK", b"USER", b"JOIN", b"PRIVMSG", b"PING", b"PONG"}
    assert [line for line in rig.proxy.lines if line.startswith(b"JOIN")] == [f"JOIN {rig.room}\r\n".encode()]
    assert not any("\x01" in said for said in rig.ada.said(rig.nick))


@pytest.mark.parametrize("target", ["a b", "a,b", "", ":a", "a\r\nQUIT", "a\x00"])
async def test_no_peer_becomes_several_or_a_command(rig: IrcRig, target: str) -> None:
    channel = await rig.start()

    sent = await channel.send(OutboundMessage("1", Address("irc", target), "hello"))

    assert sent.state is DeliveryState.PERMANENT


async def test_what_the_server_does_not_deliver_fails_at_once(rig: IrcRig) -> None:
    await rig.start()

    gone = await rig.send("hello", free_nick("nobody"))
    fine = await rig.send("hello")

    assert gone.state is DeliveryState.PERMANENT
    assert "401" in (gone.error or "")
    assert fine.state is DeliveryState.DELIVERED


async def test_a_message_that_was_written_before_a_cut_is_unknown_and_one_after_it_is_not_sent(rig: IrcRig) -> None:
    await rig.start()
    rig.proxy.cut_after = lambda line: line.startswith(b"PRIVMSG")
    cut = await rig.send("once")
    later = await rig.send("later")

    assert cut.state is DeliveryState.UNKNOWN
    assert later.state is DeliveryState.TRANSIENT
    await until(lambda: rig.ada.said(rig.nick))
    await rig.ada.settle()
    assert rig.ada.said(rig.nick) == ["once"]


async def test_it_connects_again_after_a_cut_and_after_a_silence(rig: IrcRig) -> None:
    await rig.start(timing=IrcTiming(connect_s=20.0, silence_s=0.3, answer_s=3.0))
    for count, failure in enumerate((rig.proxy.cut, rig.proxy.go_deaf), 1):
        errors = len(rig.hub.errors)
        failure()
        await until(lambda: len(rig.hub.errors) > errors)  # noqa: B023
        await rig.connected()
        rig.ada.say(rig.room, "still there?")
        await until(lambda: rig.hub.texts == ["still there?"] * count)  # noqa: B023


@pytest.mark.parametrize(
    "line", [b"\xff\xfe\r\n", b":\r\n", b"@;=\r\n", b":a!b@c PRIVMSG\r\n", b"@time=x :a!b@c PART\r\n"]
)
async def test_a_line_that_makes_no_sense_is_survived(rig: IrcRig, line: bytes) -> None:
    await rig.start()
    rig.proxy.inject(line)
    rig.ada.say(rig.nick, "hello")

    await until(lambda: rig.hub.texts == ["hello"])


async def test_what_cannot_be_stored_is_kept_until_it_can(rig: IrcRig) -> None:
    await rig.start()
    rig.hub.full = 3
    rig.ada.say(rig.nick, "keep this")

    await until(lambda: rig.hub.texts == ["keep this"])
    assert "the disk is full" in rig.hub.errors[0][0]
    await until(lambda: rig.hub.states[-1] == "connected")


async def test_it_writes_a_burst_and_then_keeps_the_pace_and_chats_take_turns(rig: IrcRig) -> None:
    class Recorded(HastyClock):
        at = 1_000.0
        waits: list[float]

        def monotonic(self) -> float:
            return self.at

        async def sleep(self, seconds: float) -> None:
            self.at += seconds
            self.waits = [*getattr(self, "waits", ()), seconds]
            await asyncio.sleep(0)

    clock = Recorded()
    await rig.start(clock, lines_per_second=1.0)

    long = asyncio.create_task(rig.send("\n".join(f"long {number}" for number in range(9)), rig.room))
    short = asyncio.create_task(rig.send("short"))
    assert [(await each).state for each in (long, short)] == [DeliveryState.DELIVERED] * 2
    await rig.ada.settle()

    assert [round(each) for each in clock.waits] == [0] * 6 + [1] * 4
    order = [each.parameters[-1] for each in rig.ada.heard if each.command == "PRIVMSG"]
    assert order.index("short") < 3


async def test_a_server_that_refuses_takes_a_person(rig: IrcRig) -> None:
    await rig.start()
    assert rig.channel is not None
    await rig.channel.stop()
    account = IrcAccount("default", "127.0.0.1", rig.nick, rig.proxy.port, tls=False, sasl_password=Secret("secret"))
    rig.channel = IrcChannel(account, HastyClock())
    await rig.channel.start(rig.hub)
    await until(lambda: rig.hub.errors)

    assert rig.hub.errors[-1][1]
    assert "SASL" in rig.hub.errors[-1][0]
