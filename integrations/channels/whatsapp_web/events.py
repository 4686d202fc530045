"""Reads WhatsApp's protobuf messages as the hub's messages and events. Pure, but for what it is told of people.

A message is named `ID:AUTHOR`, as answers and reactions must say in groups whose it is. A person is their phone number,
or their LID (`123@lid`) as long as nobody told the number behind it.
Format: https://github.com/tulir/whatsmeow/tree/main/proto
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from hub.messaging.contract import (
    Address,
    ChatType,
    Contact,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    MembershipChanged,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    Quote,
    ReactionChanged,
    SharedLocation,
)
from integrations.channels.http_api import PlatformError

PHONE, LID, GROUP = "s.whatsapp.net", "lid", "g.us"
NAME = "whatsapp_web"
REVOKE, MESSAGE_EDIT = 0, 14
WRAPPED_LIMIT = 5
_WRAPPERS = (
    *("deviceSentMessage", "ephemeralMessage", "viewOnceMessage", "viewOnceMessageV2", "viewOnceMessageV2Extension"),
    *("documentWithCaptionMessage", "editedMessage", "groupMentionedMessage", "botInvokeMessage"),
)
_MEDIA = {
    "imageMessage": MediaKind.IMAGE,
    "videoMessage": MediaKind.VIDEO,
    "ptvMessage": MediaKind.VIDEO,
    "audioMessage": MediaKind.AUDIO,
    "documentMessage": MediaKind.FILE,
    "stickerMessage": MediaKind.STICKER,
}
_FILE_KEYS = ("directPath", "mediaKey", "fileSHA256", "fileEncSHA256", "fileLength", "mimetype")
"""Without the URL, which the sender writes and the client would follow to any server; the path is on WhatsApp's own."""
_POLLS = tuple(f"pollCreationMessage{each}" for each in ("", "V2", "V3", "V5"))
_UNREAD = (
    *("eventMessage", "groupInviteMessage", "productMessage", "orderMessage", "invoiceMessage", "templateMessage"),
    *("buttonsMessage", "listMessage", "interactiveMessage", "requestPaymentMessage", "sendPaymentMessage"),
)
"""Kinds that people see and this does not read."""
_CARD_ACCOUNT = re.compile(r"waid=(\d{5,15})")
_CARD_PHONE = re.compile(r"^(?:item\d+\.)?TEL[^:\n]*:([+\d][\d ()-]+)", re.MULTILINE)
_BANS = {
    "SEND_TO_TOO_MANY_PEOPLE": "it wrote to too many people who do not know the number",
    "BLOCKED_BY_USERS": "too many people blocked the number",
    "CREATED_TOO_MANY_GROUPS": "it created too many groups with people who do not know the number",
    "SENT_TOO_MANY_SAME_MESSAGE": "it sent the same message too often",
    "BROADCAST_LIST": "it wrote to too many people by a broadcast list",
}
UNLINKED = "it is not linked to a phone; run: homarus channels link whatsapp_web"


class Ending(Struct, frozen=True):
    """Why a connection ended; `permanent` when only a person can change that."""

    text: str
    permanent: bool = True


def ending_of(event: Any) -> Ending | None:
    """Return what an event says about the end of the connection; None when it does not say that."""
    match event.DESCRIPTOR.name:
        case "LoggedOut":
            return Ending(f"WhatsApp logged it out, on the phone or by itself: {UNLINKED}")
        case "StreamReplaced":
            return Ending(
                "the same session is in use elsewhere, such as in a second hub from one backup; stop that one, and "
                "run: homarus channels link whatsapp_web"
            )
        case "ClientOutdated":
            return Ending("WhatsApp refuses the client as too old; update the package neonize, and restart the hub")
        case "TemporaryBan":
            why = _BANS.get(_enum_name(event, "Code"), "no reason given")
            until = f" until {datetime.fromtimestamp(event.Expire, UTC):%Y-%m-%d %H:%M} UTC" if event.Expire else ""
            return Ending(f"WhatsApp banned the number{until}: {why}. Wait, and write less")
        case "ConnectFailure":
            reason = _enum_name(event, "Reason")
            passing = reason in ("INTERNAL_SERVER_ERROR", "EXPERIMENTAL", "SERVICE_UNAVAILABLE", "GENERIC")
            return Ending(f"WhatsApp refuses the connection: {event.Message or reason}", permanent=not passing)
    return None


def _enum_name(message: Any, field: str) -> str:
    found = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number.get(getattr(message, field))
    return str(found.name) if found else "unknown"


# --- people ---


def jid_of(jid: Any) -> str:
    """Return a JID as text, without its device; empty for none."""
    return f"{jid.User}@{jid.Server}" if jid.User else ""


def person_of(jid: str, numbers: Mapping[str, str]) -> str:
    """Return whom a JID names: a phone number, a LID whose number is not known, or somebody of another server.

    The digits of a bot or of another network are no phone number, and stay with the name of their server.

    Args:
        numbers: Phone numbers by their LIDs.
    """
    user, _, server = jid.rpartition("@")
    user = re.split(r"[:.]", user, maxsplit=1)[0]
    if server == PHONE or not user:
        return user
    return numbers.get(f"{user}@{LID}", f"{user}@{LID}") if server == LID else f"{user}@{server}"


def jid_from(peer: str) -> str:
    """Return the JID of a person or group.

    Raises:
        PlatformError: It is neither.
    """
    jid = peer if "@" in peer else f"{peer.removeprefix('+')}@{PHONE}"
    user, _, server = jid.rpartition("@")
    if server not in (PHONE, LID, GROUP) or not re.fullmatch(r"[\d-]{5,40}", user):
        raise PlatformError(
            DeliveryState.PERMANENT, f"WhatsApp: {peer!r} is neither a phone number with its country nor a group"
        )
    return jid


def lids_of(event: Any) -> set[str]:
    """Return the LIDs that a message names."""
    content, source = unwrap(event.Message), event.Info.MessageSource
    context = _context_of(content)
    named = {jid_of(each) for each in (source.Sender, source.Chat)}
    if context is not None:
        named |= {context.participant, *context.mentionedJID}
    for field in ("reactionMessage", "protocolMessage"):
        if content.HasField(field):
            named.add(getattr(content, field).key.participant)
    return {f"{re.split('[:.@]', each)[0]}@{LID}" for each in named if each.endswith(f"@{LID}")}


def numbers_in(event: Any) -> dict[str, str]:
    """Return the phone numbers that a message tells beside LIDs."""
    source = event.Info.MessageSource
    pairs = [(source.Sender, source.SenderAlt)]
    if source.IsFromMe and not source.IsGroup:
        pairs.append((source.Chat, source.RecipientAlt))
    found = {}
    for one, other in pairs:
        for lid, phone in ((one, other), (other, one)):
            if lid.Server == LID and phone.Server == PHONE:
                found[f"{lid.User}@{LID}"] = phone.User
    return found


# --- ids ---


def message_id(id: str, author: str) -> str:
    """Return the id of a message."""
    return f"{id}:{author}"


def split_id(id: str) -> tuple[str, str]:
    """Return WhatsApp's id of a message, and its author.

    Raises:
        PlatformError: It is the id of none.
    """
    own, _, author = id.partition(":")
    if not (own and author):
        raise PlatformError(DeliveryState.PERMANENT, f"{id!r} is not a WhatsApp message")
    return own, author


# --- messages ---


class Reading(Struct, frozen=True):
    """What is known where a message is read.

    Attributes:
        account: The configured name of the account.
        me: The account's own phone number.
        numbers: Phone numbers by their LIDs.
        votes: The SHA-256 of the options that the message votes for.
        options: The options of the poll that it votes in.
    """

    account: str
    me: str
    numbers: Mapping[str, str]
    votes: Sequence[bytes] = ()
    options: Sequence[str] = ()


def unwrap(message: Any) -> Any:
    """Return the message inside disappearing, view-once and similar ones."""
    for _ in range(WRAPPED_LIMIT):
        inner = next((name for name in _WRAPPERS if message.HasField(name)), None)
        if inner is None:
            break
        message = getattr(message, inner).message
    return message


def poll_voted_in(event: Any, known: Reading) -> str | None:
    """Return the id of the poll in which a message votes."""
    content = unwrap(event.Message)
    if not content.HasField("pollUpdateMessage"):
        return None
    key = content.pollUpdateMessage.pollCreationMessageKey
    return message_id(key.ID, _author(key, _sender(event, known), known, event.Info.MessageSource.IsGroup))


def inbound_of(event: Any, known: Reading, sent: Collection[str]) -> Inbound | None:
    """Return the hub's message for an event `Message`; None if it is irrelevant, or an echo of the assistant's own.

    Args:
        sent: WhatsApp's ids of the messages that this device sent.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as WhatsApp writes them.
    """
    info, source = event.Info, event.Info.MessageSource
    if source.Chat.Server not in (PHONE, LID, GROUP) or not info.ID:
        return None  # stories, broadcasts and channels
    chat, person = person_of(jid_of(source.Chat), known.numbers), _sender(event, known)
    to_self = not source.IsGroup and chat == known.me
    if info.ID in sent or not person:
        return None
    if source.IsGroup:
        address = Address(NAME, jid_of(source.Chat), known.account, chat_type=ChatType.GROUP)
    else:
        address = Address(NAME, chat, known.account)
    found = _read(event, unwrap(event.Message), known, address, person)
    ours = source.IsFromMe and not to_self  # written on the phone: what is deleted there is the assistant's too
    return found if not ours or isinstance(found, MessageDeleted) else None


def _sender(event: Any, known: Reading) -> str:
    return person_of(jid_of(event.Info.MessageSource.Sender), known.numbers)


def _read(event: Any, content: Any, known: Reading, address: Address, person: str) -> Inbound | None:
    info, group = event.Info, bool(event.Info.MessageSource.IsGroup)
    id, sender, name = message_id(info.ID, person), f"{NAME}:user:{person}", info.Pushname or None
    if content.HasField("reactionMessage"):
        reaction = content.reactionMessage
        target = message_id(reaction.key.ID, _author(reaction.key, person, known, group))
        return ReactionChanged(
            address, id, sender, name, message_id=target, emoji=reaction.text, added=bool(reaction.text)
        )
    if content.HasField("protocolMessage"):
        protocol = content.protocolMessage
        about = message_id(protocol.key.ID, _author(protocol.key, person, known, group))
        if protocol.type == MESSAGE_EDIT:
            edited = message_id(protocol.key.ID, person)
            return MessageEdited(address, id, sender, name, message_id=edited, text=text_of(protocol.editedMessage))
        deletes = protocol.HasField("key") and protocol.type == REVOKE
        return MessageDeleted(address, id, sender, name, message_id=about) if deletes else None
    if content.HasField("pollUpdateMessage"):
        poll = poll_voted_in(event, known) or ""
        hashes = [hashlib.sha256(each.encode()).digest() for each in known.options]
        numbers = tuple(hashes.index(each) for each in known.votes if each in hashes)
        choices = tuple(known.options[each] for each in numbers)
        return PollAnswered(address, id, sender, name, poll_id=poll, choices=choices, numbers=numbers)
    media, contacts, location = tuple(_media(content)), tuple(_contacts(content)), _location(content)
    text = _text(content)
    if text is None and not media and not contacts and location is None:
        return None
    context = _context_of(content)
    mentioned = {person_of(each, known.numbers) for each in context.mentionedJID} if context is not None else set()
    quoted_by = person_of(context.participant, known.numbers) if context is not None else ""
    replies = context is not None and bool(context.stanzaID and quoted_by)
    return InboundMessage(
        address,
        id,
        sender,
        _without_mention(text or "", context, known),
        sender_name=name,
        mentioned=not group or known.me in mentioned or quoted_by == known.me,
        sent_at=_seconds(info.Timestamp),
        media=media,
        location=location,
        contacts=contacts,
        reply_to=message_id(context.stanzaID, quoted_by) if replies else None,
        quoted=_quote(context, quoted_by) if replies else None,
        album=_album(content),
    )


def _seconds(timestamp: int) -> float | None:
    """Return when a message was sent; the client has told seconds, and milliseconds."""
    return timestamp / (1000 if timestamp > 10**11 else 1) or None


def _author(key: Any, person: str, known: Reading, group: bool) -> str:
    """Return whose message a key names, as the person who wrote the key sees it."""
    if key.participant:
        return person_of(key.participant, known.numbers)
    return person if key.fromMe or group else known.me


def _without_mention(text: str, context: Any, known: Reading) -> str:
    """Return a text without the mention of the assistant that it begins with."""
    for jid in context.mentionedJID if context is not None else ():
        if person_of(jid, known.numbers) == known.me:
            text = text.removeprefix(f"@{re.split('[:.@]', jid)[0]}").lstrip()
    return text


def _quote(context: Any, author: str) -> Quote | None:
    text = _text(unwrap(context.quotedMessage)) if context.HasField("quotedMessage") else None
    return Quote(text, f"{NAME}:user:{author}") if text else None


def text_of(message: Any) -> str:
    """Return the text of a message, as replies to it quote it."""
    return _text(unwrap(message)) or ""


def _text(content: Any) -> str | None:
    if content.HasField("conversation"):
        return str(content.conversation)
    if content.HasField("extendedTextMessage"):
        return str(content.extendedTextMessage.text)
    for field in _MEDIA:
        if content.HasField(field):
            return str(getattr(getattr(content, field), "caption", ""))
    for field in _POLLS:
        if content.HasField(field):
            poll = getattr(content, field)
            return "\n".join([f"📊 {poll.name}", *(f"- {each.optionName}" for each in poll.options)])
    unread = next((each for each in _UNREAD if content.HasField(each)), None)
    return f"(a message of the kind {unread!r}, without its content)" if unread else None


def _context_of(content: Any) -> Any:
    for descriptor, value in content.ListFields():
        kind = descriptor.message_type
        if kind is not None and "contextInfo" in kind.fields_by_name and not isinstance(value, Sequence):
            return value.contextInfo if value.HasField("contextInfo") else None
    return None


def _media(content: Any) -> Iterator[Media]:
    for field, kind in _MEDIA.items():
        if not content.HasField(field):
            continue
        file = getattr(content, field)
        # What fetching it takes, and no more; the library knows no field for round videos.
        wanted = type(content)()
        kept = getattr(wanted, "videoMessage" if field == "ptvMessage" else field)
        for key in _FILE_KEYS:
            setattr(kept, key, getattr(file, key))
        yield Media(
            kind,
            base64.b64encode(wanted.SerializeToString()).decode(),
            file.mimetype.partition(";")[0] or None,
            getattr(file, "fileName", "") or None,
            file.fileLength or None,
            float(getattr(file, "seconds", 0)) or None,
            voice=bool(getattr(file, "PTT", False)),
        )


def size_of(reference: str, message: Any) -> tuple[bytes, int]:
    """Return the message that a reference stands for, serialised, and how long its file is.

    Args:
        message: An empty `Message`.

    Raises:
        PlatformError: It stands for none.
    """
    from google.protobuf.message import DecodeError

    try:
        data = base64.b64decode(reference, validate=True)
        message.ParseFromString(data)
    except (ValueError, DecodeError) as error:
        raise PlatformError(DeliveryState.PERMANENT, "WhatsApp: that is no file of a message") from error
    return data, max((getattr(message, field).fileLength for field in _MEDIA if message.HasField(field)), default=0)


def _contacts(content: Any) -> Iterator[Contact]:
    cards = list(content.contactsArrayMessage.contacts) if content.HasField("contactsArrayMessage") else []
    if content.HasField("contactMessage"):
        cards.append(content.contactMessage)
    for card in cards:
        account, phone = _CARD_ACCOUNT.search(card.vcard), _CARD_PHONE.search(card.vcard)
        number = f"+{account[1]}" if account else phone[1].strip() if phone else None
        yield Contact(card.displayName or "unknown", number)


def _location(content: Any) -> SharedLocation | None:
    field = next((each for each in ("locationMessage", "liveLocationMessage") if content.HasField(each)), None)
    if field is None:
        return None
    place = getattr(content, field)
    name = ", ".join(filter(None, (getattr(place, "name", ""), getattr(place, "address", ""))))
    return SharedLocation(place.degreesLatitude, place.degreesLongitude, name or None)


def _album(content: Any) -> str | None:
    if not content.HasField("messageContextInfo"):
        return None
    association = content.messageContextInfo.messageAssociation
    return association.parentMessageKey.ID or None


# --- groups ---


def memberships_of(event: Any, account: str, numbers: Mapping[str, str]) -> Iterator[MembershipChanged]:
    """Yield who joined and left a group, from a `GroupInfoEvent`."""
    address = Address(NAME, jid_of(event.JID), account, chat_type=ChatType.GROUP)
    by = person_of(jid_of(event.Sender), numbers)
    for people, joined in ((event.Join, True), (event.Leave, False)):
        for jid in people:
            person = person_of(jid_of(jid), numbers)
            id = f"{event.Timestamp}:{'join' if joined else 'leave'}:{person}"
            member = f"{NAME}:user:{person}"
            yield MembershipChanged(address, id, f"{NAME}:user:{by or person}", member=member, joined=joined)
