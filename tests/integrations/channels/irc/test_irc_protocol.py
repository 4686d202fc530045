"""Lines, registration with a server that has what ngircd lacks, and the configuration."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from voluptuous import MultipleInvalid

from hub.core.clock import Clock
from hub.core.secret import Secret
from hub.messaging.contract import Address
from integrations.channels.irc.channel import IrcChannel
from integrations.channels.irc.connection import TYPING_S, IrcAccount
from integrations.channels.irc.protocol import LINE_BYTES, IrcLine, fold, is_target, lines_of, mentions, parse
from integrations.channels.irc.schema import CONFIG_SCHEMA
from tests.channels.kit import HurriedClock
from tests.integrations.channels.receiving import Collected, HastyClock
from tests.until import until

ACCOUNT = {"host": "irc.example.org", "nick": "homarus"}


def test_a_line_is_read_with_its_tags() -> None:
    line = parse("@account=Ada;time=2026-01-01T00:00:00.000Z;+x=a\\:b\\sc :Ada!a@host PRIVMSG #home :hello : there\r\n")

    assert line == IrcLine(
        "PRIVMSG",
        ("#home", "hello : there"),
        "Ada!a@host",
        {"account": "Ada", "time": "2026-01-01T00:00:00.000Z", "+x": "a;b c"},
    )
    assert line.nick == "Ada"


@given(st.text(), st.text(st.characters(codec="utf-8"), max_size=3_000))
def test_any_line_can_be_read_and_any_text_be_said(line: str, text: str) -> None:
    parse(line)

    prefix = "homarus!~homarus@example.org"
    for each in lines_of(text, "#home", prefix):
        assert each.startswith("PRIVMSG #home :")
        assert not set("\r\n\0\x01") & set(each)
        assert len(f":{prefix} {each}".encode()) <= LINE_BYTES


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("homarus: hi", True),
        ("hi HOMARUS!", True),
        ("homarus", True),
        ("homarus_: hi", False),
        ("xhomarus", False),
        ("[homarus]", False),
    ],
)
def test_a_mention_is_the_nick_as_a_word(text: str, is_one: bool) -> None:
    assert mentions(text, "Homarus") is is_one


def test_names_are_compared_as_servers_do() -> None:
    assert fold("#Home[1]\\~") == "#home{1}|^"
    assert is_target("#home")
    assert not is_target("a,b")


class SaslServer:
    """An IRC server with services, as far as registration goes."""

    def __init__(self, takes: Callable[[str, str], bool], offers: str = "", supports: str = "") -> None:
        self._takes = takes
        self._offers = offers
        self._supports = supports
        self.writers: list[asyncio.StreamWriter] = []
        self.lines: list[str] = []
        self.port = 0

    async def __aenter__(self) -> SaslServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def say(*lines: str) -> None:
            writer.write("".join(f"{line}\r\n" for line in lines).encode())

        self.writers.append(writer)
        while raw := await reader.readline():
            line = parse(raw.decode())
            self.lines.append(raw.decode().strip())
            match line.command, line.parameters:
                case "CAP", ("LS", _):
                    say(
                        ":s CAP * LS * :multi-prefix sasl=PLAIN",
                        f":s CAP * LS :account-tag server-time echo-message {self._offers}",
                    )
                case "CAP", ("REQ", wanted):
                    say(f":s CAP * ACK :{wanted}")
                case "AUTHENTICATE", ("PLAIN",):
                    say("AUTHENTICATE +")
                case "AUTHENTICATE", (told,):
                    _, user, password = base64.b64decode(told).decode().split("\0")
                    say(":s 903 * :Logged in" if self._takes(user, password) else ":s 904 * :Wrong password")
                case "CAP", ("END",):
                    say(":s 001 homarus :Welcome", f":s 005 homarus {self._supports} NICKLEN=30 :are supported")
                    say(":s 376 homarus :End")
                case "JOIN", _:
                    tags = "@account=Ada;time=2026-01-01T00:00:00.000Z;msgid=m1"
                    say(f"{tags} :Ada!a@host PRIVMSG homarus :hello", ":Ada!a@host PRIVMSG homarus :not logged in")
        writer.close()


def channel_at(port: int, password: str, clock: Clock | None = None) -> IrcChannel:
    account = IrcAccount(
        "default", "127.0.0.1", "homarus", port, tls=False, sasl_password=Secret(password), channels=("#a",)
    )
    return IrcChannel(account, clock or HastyClock())


async def test_services_are_logged_in_to_before_channels_are_joined_and_prove_who_writes() -> None:
    hub = Collected()
    async with SaslServer(lambda user, password: (user, password) == ("homarus", "correct horse")) as server:
        channel = channel_at(server.port, "correct horse")
        await channel.start(hub)
        await until(lambda: len(hub.messages) == 2)
        await channel.stop()

    commands = [line for line in server.lines if not line.startswith(("NICK", "USER", "AUTH"))]
    assert commands[:4] == ["CAP LS 302", "CAP REQ :account-tag sasl server-time", "CAP END", "JOIN #a"]
    proved, guest = hub.messages
    assert (proved.sender, proved.message_id, proved.sent_at) == ("irc:account:ada", "m1", 1_767_225_600.0)
    assert guest.sender.startswith("irc:guest:Ada!a@host:")


@pytest.mark.parametrize(
    ("offers", "supports", "is_shown"),
    [
        ("message-tags", "CLIENTTAGDENY=*,-typing", True),
        ("message-tags", "CLIENTTAGDENY=react", True),
        ("message-tags", "CLIENTTAGDENY=react,typing", False),
        ("message-tags", "CLIENTTAGDENY=*,-react", False),
        ("", "", False),
    ],
)
async def test_typing_is_said_where_the_server_passes_it_on_every_three_seconds_at_most(
    offers: str, supports: str, is_shown: bool
) -> None:
    hub = Collected()
    async with SaslServer(lambda user, password: True, offers, supports) as server:
        clock = HurriedClock()
        channel = channel_at(server.port, "correct horse", clock)
        await channel.start(hub)
        await until(lambda: len(hub.messages) == 2)
        for peer in ("ada", "ada", "#a", "a b", "ada\r\nQUIT"):
            await channel.typing(Address("irc", peer))
        await clock.sleep(TYPING_S)
        await channel.typing(Address("irc", "ada"))
        if is_shown:
            server.writers[-1].write(b":s CAP homarus DEL :message-tags\r\n:Ada!a@host PRIVMSG homarus :so\r\n")
            await until(lambda: len(hub.messages) == 3)
        await clock.sleep(TYPING_S)
        await channel.typing(Address("irc", "ada"))
        await channel.stop()
        await until(lambda: "QUIT" in server.lines)

    said = [line for line in server.lines if "TAGMSG" in line]
    assert said == [f"@+typing=active TAGMSG {each}" for each in ("ada", "#a", "ada") if is_shown]
    await channel.typing(Address("irc", "ada"))


async def test_a_wrong_password_for_services_takes_a_person() -> None:
    hub = Collected()
    async with SaslServer(lambda user, password: False) as server:
        channel = channel_at(server.port, "wrong")
        await channel.start(hub)
        await until(lambda: hub.errors)
        await channel.stop()

    assert hub.errors == [("services refuse the login: Wrong password", True)]
    assert "wrong" not in hub.errors[0][0].split()


def test_one_account_may_stand_alone_and_has_tls() -> None:
    (config,) = CONFIG_SCHEMA(ACCOUNT | {"channels": "#home"})

    account = IrcAccount.from_config(config)

    assert (account.port, account.tls, account.channels) == (6697, True, ("#home",))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ACCOUNT | {"nick": "two words"}, "expected a nick"),
        (ACCOUNT | {"nick": "a\r\nQUIT"}, "expected a nick"),
        (ACCOUNT | {"channels": ["home"]}, "in quotes"),
        (ACCOUNT | {"channels": ["#a,#b"]}, "in quotes"),
        (ACCOUNT | {"allow_from": ["irc:nick:ada!a@host"]}, "trust_nicks: true"),
        (ACCOUNT | {"sasl_user": "homarus"}, "sasl_user needs sasl_password"),
        (ACCOUNT | {"lines_per_second": 0}, "lines_per_second"),
    ],
)
def test_what_is_wrong_is_named(config: Any, said: str) -> None:
    with pytest.raises(MultipleInvalid, match=said):
        CONFIG_SCHEMA(config)
