"""Reads signal-cli's envelopes as the hub's messages and events.

A message of Signal's has no id of its own: its author and the time they sent it name it, here `TIME:AUTHOR`.
Source: https://github.com/AsamK/signal-cli/wiki/JSON-RPC-service
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hub.messaging.contract import (
    Address,
    ChatType,
    Contact,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MessageDeleted,
    MessageEdited,
    PollAnswered,
    Quote,
    ReactionChanged,
)
from integrations.channels.acknowledging import kind_of
from integrations.channels.http_api import PlatformError


def message_id(timestamp: int, author: str) -> str:
    """Return the id of a message."""
    return f"{timestamp}:{author}"


def split_id(id: str) -> tuple[int, str]:
    """Return when a message was sent, and by whom.

    Raises:
        PlatformError: It is the id of none.
    """
    timestamp, _, author = id.partition(":")
    if not (timestamp.isdigit() and author):
        raise PlatformError(DeliveryState.PERMANENT, f"{id!r} is not a Signal message")
    return int(timestamp), author


def inbound_of(
    envelope: Mapping[str, Any], me: Collection[str], account: str, sent: Collection[int]
) -> Iterator[Inbound]:
    """Yield the content of an envelope; nothing when it is of no interest, or an echo of the assistant's own.

    Args:
        envelope: As signal-cli gives it.
        me: The account's number and id.
        sent: Times of the messages that the assistant sent.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as signal-cli writes them.
    """
    author = envelope.get("sourceUuid")
    if not author:
        return  # without an id, such as sealed by a sender who is not known yet
    data = envelope.get("dataMessage")
    own = (envelope.get("syncMessage") or {}).get("sentMessage")
    if own and own.get("timestamp") not in sent and {own.get("destinationUuid"), own.get("destination")} & set(me):
        yield from _said(own, author, envelope, me, _direct(author, account))  # the note to self
    elif data and author not in me:
        yield from _said(data, author, envelope, me, _address(data, author, account))
    elif (edit := envelope.get("editMessage")) and author not in me:
        data = edit["dataMessage"]
        yield MessageEdited(
            _address(data, author, account),
            message_id(data["timestamp"], author),
            _typed(author),
            message_id=message_id(edit["targetSentTimestamp"], author),
            text=_text(data),
        )


def _said(
    data: Mapping[str, Any], author: str, envelope: Mapping[str, Any], me: Collection[str], address: Address
) -> Iterator[Inbound]:
    id, sender = message_id(data["timestamp"], author), _typed(author)
    name = envelope.get("sourceName") or envelope.get("sourceNumber")
    if reaction := data.get("reaction"):
        target = message_id(reaction["targetSentTimestamp"], reaction["targetAuthorUuid"])
        added = not reaction.get("isRemove")
        yield ReactionChanged(address, id, sender, name, message_id=target, emoji=reaction["emoji"], added=added)
    elif deleted := data.get("remoteDelete"):
        yield MessageDeleted(address, id, sender, message_id=message_id(deleted["timestamp"], author))
    elif vote := data.get("pollVote"):
        poll = message_id(vote["targetSentTimestamp"], vote["authorUuid"])
        numbers = tuple(int(each) for each in vote.get("optionIndexes", ()))
        yield PollAnswered(address, id, sender, name, poll_id=poll, numbers=numbers)
    elif data.get("message") or data.get("attachments") or data.get("sticker") or data.get("contacts"):
        quote = data.get("quote")
        by_me = quote is not None and quote.get("authorUuid") in me
        yield InboundMessage(
            address,
            id,
            sender,
            _text(data),
            sender_name=name,
            mentioned=address.chat_type is ChatType.DIRECT
            or by_me
            or any({each.get("uuid"), each.get("number")} & set(me) for each in data.get("mentions", ())),
            sent_at=data["timestamp"] / 1000,
            media=tuple(_media(each) for each in data.get("attachments", ())),
            contacts=tuple(_contact(each) for each in data.get("contacts", ())),
            reply_to=message_id(quote["id"], quote.get("authorUuid") or "") if quote else None,
            quoted=Quote(quote.get("text") or "", _typed(quote["authorUuid"]) if quote.get("authorUuid") else None)
            if quote
            else None,
            group_name=(data.get("groupInfo") or {}).get("groupName"),
        )


def _address(data: Mapping[str, Any], author: str, account: str) -> Address:
    group = (data.get("groupInfo") or {}).get("groupId")
    if group:
        return Address("signal", group, account, chat_type=ChatType.GROUP)
    return _direct(author, account)


def _direct(person: str, account: str) -> Address:
    return Address("signal", person, account)


def _text(data: Mapping[str, Any]) -> str:
    """The text, with names where it mentions people; positions count in UTF-16 units."""
    units = (data.get("message") or "").encode("utf-16-le")
    for each in sorted(data.get("mentions", ()), key=lambda each: -each["start"]):
        name = each.get("name") or each.get("number") or each.get("uuid")
        start, end = 2 * each["start"], 2 * (each["start"] + each["length"])
        units = units[:start] + f"@{name}".encode("utf-16-le") + units[end:]
    text: str = units.decode("utf-16-le", errors="replace")
    return text or ("(sticker)" if data.get("sticker") else "")


def _media(file: Mapping[str, Any]) -> Media:
    mime_type = file.get("contentType") or ""
    # A voice message has no name, and is recorded as AAC.
    voice = bool(file.get("voiceNote")) or (mime_type == "audio/aac" and not file.get("filename"))
    return Media(kind_of(mime_type), file["id"], mime_type or None, file.get("filename"), file.get("size"), voice=voice)


def _contact(data: Mapping[str, Any]) -> Contact:
    name = data.get("name") or {}
    phones = data.get("phone") or ()
    shown = name.get("display") or " ".join(filter(None, (name.get("given"), name.get("family"))))
    return Contact(shown or "unknown", phones[0].get("value") if phones else None)


def _typed(person: str) -> str:
    return f"signal:user:{person}"
