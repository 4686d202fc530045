"""What the stanzas of XMPP mean; they are read without a server."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from hub.core.schema import Invalid
from hub.messaging.contract import (
    ChatType,
    Inbound,
    InboundMessage,
    MediaKind,
    MessageDeleted,
    MessageEdited,
    ReactionChanged,
)
from integrations.channels.xmpp.connection import XmppAccount
from integrations.channels.xmpp.events import Me, mentions, read, receipt_for, received
from integrations.channels.xmpp.schema import CONFIG_SCHEMA

ASKED = '<request xmlns="urn:xmpp:receipts"/>'
ROOM, ADA, BOT = "room@rooms.test", "ada@xmpp.test", "homarus@xmpp.test"
ME = Me(
    "default",
    BOT,
    {ROOM: "Homarus"},
    {(ROOM, "Ada"): ADA},
    lambda room, own: {"own-1": "archived-1"}.get(own, own),
    lambda sender, target: frozenset({"👍"}) if target == "seen" else frozenset(),
)


def stanza(inner: str, source: str = f"{ADA}/phone", kind: str = "chat", id: str | None = "own-1") -> Any:
    named = f' id="{id}"' if id else ""
    text = f'<message xmlns="jabber:client" from="{source}" type="{kind}"{named}>{inner}</message>'
    return ElementTree.fromstring(text)


def heard(inner: str, **more: Any) -> list[Inbound]:
    return read(stanza(inner, **more), ME)


def in_room(inner: str, nick: str = "Ada") -> list[Inbound]:
    return heard(inner, source=f"{ROOM}/{nick}", kind="groupchat")


def test_a_message_is_of_the_bare_address_and_has_its_senders_id() -> None:
    (message,) = heard(f'<body>hello</body><stanza-id xmlns="urn:xmpp:sid:0" id="x" by="{BOT}"/>')

    assert isinstance(message, InboundMessage)
    assert (message.sender, message.address.peer, message.message_id) == (f"xmpp:user:{ADA}", ADA, "own-1")
    assert (message.text, message.mentioned) == ("hello", True)


def test_in_a_room_a_message_has_the_rooms_id_and_nobody_elses() -> None:
    forged = '<stanza-id xmlns="urn:xmpp:sid:0" id="forged" by="evil.test"/>'
    (message,) = in_room(f'<body>Homarus: hi</body>{forged}<stanza-id xmlns="urn:xmpp:sid:0" id="r" by="{ROOM}"/>')

    assert isinstance(message, InboundMessage)
    assert (message.message_id, message.address.chat_type, message.mentioned) == ("r", ChatType.GROUP, True)
    assert (message.sender, message.sender_name, message.group_name) == (f"xmpp:user:{ADA}", "Ada", "room")


def test_a_nick_is_nobody() -> None:
    occupant = '<occupant-id xmlns="urn:xmpp:occupant-id:0" id="o1"/>'

    assert in_room(f"<body>hi</body>{occupant}", "Eve")[0].sender == f"xmpp:occupant:{ROOM}/o1"
    assert in_room("<body>hi</body>", "Eve")[0].sender == f"xmpp:guest:{ROOM}/Eve"
    assert in_room(f"<body>hi</body>{occupant}", "Ada")[0].sender == f"xmpp:user:{ADA}"


@pytest.mark.parametrize(
    "made",
    [
        stanza("<body>me</body>", f"{BOT}/other"),
        stanza("<body>echo</body>", f"{ROOM}/Homarus", "groupchat"),
        stanza("<subject>hi</subject>", ROOM, "groupchat"),
        stanza("<body>elsewhere</body>", "other@rooms.test/Eve", "groupchat"),
        stanza("<body>whispered</body>", f"{ROOM}/Eve"),
        stanza('<body>come</body><x xmlns="http://jabber.org/protocol/muc#user"/>', "other@rooms.test"),
        stanza("<body>refused</body>", kind="error"),
        stanza('<body>omemo</body><encrypted xmlns="eu.siacs.conversations.axolotl"/>'),
        stanza('<composing xmlns="http://jabber.org/protocol/chatstates"/>'),
        stanza("<body></body>"),
    ],
)
def test_what_is_not_for_it_is_nothing(made: Any) -> None:
    assert read(made, ME) == []


def test_corrections_retractions_and_reactions_are_events() -> None:
    replace = '<body>new</body><replace xmlns="urn:xmpp:message-correct:0" id="own-1"/>'
    reactions = '<reactions xmlns="urn:xmpp:reactions:0" id="seen"><reaction>👎</reaction></reactions>'

    (alone,), (grouped,) = heard(replace), in_room(replace)
    (gone,) = heard('<body>took it back</body><retract xmlns="urn:xmpp:message-retract:1" id="m"/>')
    changed = heard(reactions)

    assert isinstance(alone, MessageEdited)
    assert isinstance(grouped, MessageEdited)
    assert (alone.message_id, grouped.message_id, alone.text) == ("own-1", "archived-1", "new")
    assert isinstance(gone, MessageDeleted)
    assert gone.message_id == "m"
    assert [(e.emoji, e.added) for e in changed if isinstance(e, ReactionChanged)] == [("👎", True), ("👍", False)]


def test_a_reply_is_without_what_it_quotes() -> None:
    quoted = (
        '<body>&gt; old\nnew</body><reply xmlns="urn:xmpp:reply:0" id="m" to="x"/>'
        '<fallback xmlns="urn:xmpp:fallback:0" for="urn:xmpp:reply:0"><body start="0" end="6"/></fallback>'
    )

    (message,) = heard(quoted)

    assert isinstance(message, InboundMessage)
    assert (message.text, message.reply_to) == ("new", "m")


@pytest.mark.parametrize(
    ("name", "kind"), [("a.png", "image"), ("a.OGG?x=1", "audio"), ("a.mp4", "video"), ("a", "file"), ("a.exe", "file")]
)
def test_an_address_of_a_file_is_a_file(name: str, kind: str) -> None:
    url = f"https://up.xmpp.test/{name}"

    (message,) = heard(f'<body>{url}</body><x xmlns="jabber:x:oob"><url>{url}</url></x>')

    assert isinstance(message, InboundMessage)
    assert (message.text, message.media[0].kind, message.media[0].reference) == ("", MediaKind(kind), url)


def test_a_message_without_an_id_has_the_same_one_each_time() -> None:
    (first,), (again,) = heard("<body>hi</body>", id=None), heard("<body>hi</body>", id=None)

    assert isinstance(first, InboundMessage)
    assert isinstance(again, InboundMessage)
    assert first.message_id == again.message_id != ""


@given(st.integers(-5, 50), st.integers(-5, 50))
def test_a_fallback_that_is_none_takes_nothing_away(start: int, end: int) -> None:
    mark = f'<body start="{start}" end="{end}"/>'
    fallback = f'<fallback xmlns="urn:xmpp:fallback:0" for="urn:xmpp:reply:0">{mark}</fallback>'

    found = heard(f'<body>0123456789</body><reply xmlns="urn:xmpp:reply:0" id="m"/>{fallback}')

    text = found[0].text if found and isinstance(found[0], InboundMessage) else ""
    assert text == ("0123456789"[:start] + "0123456789"[end:] if 0 <= start <= end <= 10 else "0123456789")


def test_a_nick_is_mentioned_as_a_word() -> None:
    assert mentions("hey HOMARUS, hi", "homarus")
    assert not mentions("homaruses", "homarus")
    assert mentions("c++: go", "c++")


@pytest.mark.parametrize(
    "wrong",
    [
        {"jid": "homarus"},
        {"jid": "homarus@xmpp.test/phone"},
        {"plaintext": True},
        {"plaintext": True, "host": "xmpp.test"},
        {"plaintext": True, "host": "127.0.0.1", "direct_tls": True},
        {"rooms": ["room"]},
    ],
)
def test_a_wrong_account_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        CONFIG_SCHEMA({"jid": BOT, "password": "secret", **wrong})


@pytest.mark.parametrize(
    ("given", "direct"),
    [({}, False), ({"port": 5222}, False), ({"port": 5223}, True), ({"port": 5223, "direct_tls": False}, False)],
)
def test_port_5223_begins_with_tls_unless_said_otherwise(given: dict[str, Any], direct: bool) -> None:
    (entry,) = CONFIG_SCHEMA({"jid": BOT, "password": "secret", **given})

    assert XmppAccount.from_config(entry).direct_tls is direct


@pytest.mark.parametrize(
    ("made", "receipt"),
    [
        (stanza(f"<body>hi</body>{ASKED}"), "own-1"),
        (stanza(f"<body>hi</body>{ASKED}", f"{ROOM}/Ada", "groupchat"), None),
        (stanza(f"<body>hi</body>{ASKED}", kind="error"), None),
        (stanza(f"<body>hi</body>{ASKED}", id=None), None),
        (stanza("<body>hi</body>"), None),
    ],
)
def test_a_receipt_is_for_who_asks_for_it_in_private(made: Any, receipt: str | None) -> None:
    found = receipt_for(made)

    assert (None if found is None else (found.get("to"), found[0].get("id"))) == (
        None if receipt is None else (f"{ADA}/phone", receipt)
    )


@pytest.mark.parametrize(("kind", "who"), [("chat", (ADA, "m")), ("groupchat", None), ("error", None)])
def test_a_receipt_in_a_room_is_nobodys(kind: str, who: tuple[str, str] | None) -> None:
    assert received(stanza('<received xmlns="urn:xmpp:receipts" id="m"/>', kind=kind)) == who
