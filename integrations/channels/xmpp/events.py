"""Reads stanzas of XMPP as the hub's messages and events. Pure.

XEP-0045 rooms, 0066 files, 0184 receipts, 0308 corrections, 0359 ids, 0421 occupants, 0424 retractions, 0428 fallbacks,
0444 reactions, 0461 replies.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ChatType,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MessageDeleted,
    MessageEdited,
    ReactionChanged,
)

NAME = "xmpp"
CLIENT = "{jabber:client}"
SID = "{urn:xmpp:sid:0}"
OCCUPANT = "{urn:xmpp:occupant-id:0}occupant-id"
REPLACE = "{urn:xmpp:message-correct:0}replace"
RETRACT = "{urn:xmpp:message-retract:1}retract"
REACTIONS = "{urn:xmpp:reactions:0}"
REPLY = "{urn:xmpp:reply:0}reply"
FALLBACK = "{urn:xmpp:fallback:0}"
OOB = "{jabber:x:oob}"
RECEIPTS = "{urn:xmpp:receipts}"
DELAY = "{urn:xmpp:delay}delay"
OMEMO = ("{eu.siacs.conversations.axolotl}encrypted", "{urn:xmpp:omemo:2}encrypted")
MUC_USER = "{http://jabber.org/protocol/muc#user}"
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,5})$")
_KINDS = {
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp"), MediaKind.IMAGE),
    **dict.fromkeys(("ogg", "oga", "opus", "mp3", "m4a", "wav", "flac", "aac"), MediaKind.AUDIO),
    **dict.fromkeys(("mp4", "webm", "mov", "mkv"), MediaKind.VIDEO),
}


class Me(Struct, frozen=True):
    """Who reads.

    Attributes:
        account: The configured name.
        jid: The bare address.
        nicks: The own nick in each joined room.
        occupants: The real addresses of the people in a room, where it tells them, by room and nick.
        archived: Returns the room's id of a message, given the room and its sender's id; else the same.
        reacted: Returns what somebody had reacted to a message before.
    """

    account: str
    jid: str
    nicks: Mapping[str, str]
    occupants: Mapping[tuple[str, str], str]
    archived: Callable[[str, str], str]
    reacted: Callable[[str, str], frozenset[str]]


def bare(jid: str) -> str:
    """Return an address without its resource, as it is compared."""
    return jid.partition("/")[0].lower()


def stanza_id(message: Element, by: str) -> str | None:
    """Return the id that an archive gave a message; only the archive's own word counts."""
    found = (each.get("id") for each in message.iter(f"{SID}stanza-id") if bare(each.get("by", "")) == by)
    return next(found, None)


def read(message: Element, me: Me) -> list[Inbound]:
    """Return what a stanza means; nothing for what is irrelevant, of ourselves, or encrypted."""
    source, kind = message.get("from", ""), message.get("type", "normal")
    peer, _, resource = source.partition("/")
    peer = peer.lower()
    group = kind == "groupchat"
    if not peer or kind == "error" or peer == me.jid or any(message.find(each) is not None for each in OMEMO):
        return []
    if group and (peer not in me.nicks or resource in ("", me.nicks[peer])):
        return []
    if not group and (peer in me.nicks or message.find(f"{MUC_USER}x") is not None):
        return []  # what somebody whispers in a room, and invitations
    address = Address(NAME, peer, me.account, ChatType.GROUP if group else ChatType.DIRECT)
    sender = _occupant(message, peer, resource, me) if group else f"{NAME}:user:{peer}"
    archive = stanza_id(message, peer if group else me.jid)
    own = message.get("id") or archive or hashlib.sha256(tostring(message)).hexdigest()[:32]
    id = archive or own if group else own
    name = resource if group else None
    if (event := message.find(RETRACT)) is not None:
        return [MessageDeleted(address, id, sender, name, message_id=event.get("id", ""))]
    if (event := message.find(f"{REACTIONS}reactions")) is not None:
        return _reactions(event, address, id, sender, name, me)
    body = message.findtext(f"{CLIENT}body") or ""
    if (event := message.find(REPLACE)) is not None:
        target = me.archived(peer, event.get("id", "")) if group else event.get("id", "")
        return [MessageEdited(address, id, sender, name, message_id=target, text=body)] if body else []
    reply = message.find(REPLY)
    if reply is not None:
        body = _without_fallback(message, body)
    url = message.findtext(f"{OOB}x/{OOB}url")
    media = (_media(url),) if url else ()
    text = "" if url and body.strip() == url else body
    if not text and not media:
        return []
    return [
        InboundMessage(
            address,
            id,
            sender,
            text,
            sender_name=name,
            mentioned=not group or mentions(text, me.nicks[peer]),
            sent_at=_delay(message),
            media=media,
            reply_to=None if reply is None else reply.get("id"),
            group_name=peer.partition("@")[0] if group else None,
        )
    ]


def receipt_for(message: Element) -> Element | None:
    """Return the receipt that the sender of a message asks for; none is given in rooms."""
    id, kind = message.get("id"), message.get("type", "normal")
    if not id or kind in ("groupchat", "error") or message.find(f"{RECEIPTS}request") is None:
        return None
    receipt = Element(f"{CLIENT}message", {"to": message.get("from", ""), "type": kind})
    SubElement(receipt, f"{RECEIPTS}received", {"id": id})
    return receipt


def received(message: Element) -> tuple[str, str] | None:
    """Return who received which message of ours, when this is their receipt."""
    found = message.find(f"{RECEIPTS}received")
    if found is None or message.get("type") in ("groupchat", "error"):
        return None
    return bare(message.get("from", "")), found.get("id", "")


def mentions(text: str, nick: str) -> bool:
    """Whether a nick is in a text as a word."""
    return re.search(rf"(?<!\w){re.escape(nick)}(?!\w)", text, re.IGNORECASE) is not None


def _occupant(message: Element, room: str, nick: str, me: Me) -> str:
    """Return who wrote in a room: their address where the room tells it, else the room's lasting id of them."""
    if real := me.occupants.get((room, nick)):
        return f"{NAME}:user:{real}"
    found = message.find(OCCUPANT)
    if found is not None and found.get("id"):
        return f"{NAME}:occupant:{room}/{found.get('id')}"
    return f"{NAME}:guest:{room}/{nick}"


def _reactions(event: Element, address: Address, id: str, sender: str, name: str | None, me: Me) -> list[Inbound]:
    target = event.get("id", "")
    now = {each.text for each in event.iter(f"{REACTIONS}reaction") if each.text}
    before = me.reacted(sender, target)
    changes = [(emoji, True) for emoji in sorted(now - before)] + [(emoji, False) for emoji in sorted(before - now)]
    return [
        ReactionChanged(address, f"{id}/{emoji}", sender, name, message_id=target, emoji=emoji, added=added)
        for emoji, added in changes
    ]


def _without_fallback(message: Element, body: str) -> str:
    """Return a body without what it quotes for those who know no replies."""
    for each in message.iter(f"{FALLBACK}fallback"):
        part = each.find(f"{FALLBACK}body")
        if each.get("for") == "urn:xmpp:reply:0" and part is not None:
            start, end = int(part.get("start", "0")), int(part.get("end", str(len(body))))
            if 0 <= start <= end <= len(body):
                return body[:start] + body[end:]
    return body


def _media(url: str) -> Media:
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    ending = _ENDING.search(name)
    kind = _KINDS.get(ending.group(1).lower(), MediaKind.FILE) if ending else MediaKind.FILE
    return Media(kind, url, name=name or None, voice=kind is MediaKind.AUDIO)


def _delay(message: Element) -> float | None:
    found = message.find(DELAY)
    try:
        return datetime.fromisoformat(found.get("stamp", "")).timestamp() if found is not None else None
    except ValueError:
        return None
