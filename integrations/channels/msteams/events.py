"""Reads Bot Framework activities as the hub's messages and events. Pure.

Format: https://learn.microsoft.com/microsoftteams/platform/bots/how-to/conversations/conversation-messages
"""

from __future__ import annotations

import html
import mimetypes
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
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
)
from integrations.channels.acknowledging import kind_of

Json = Mapping[str, Any]

BUTTON, POLL, CHOICE = "homarus_button", "homarus_poll", "homarus_choice"
"""Keys in the data of our cards."""
FILE, HTML = "application/vnd.microsoft.teams.file.download.info", "text/html"
THREAD = ";messageid="
_KINDS = {"personal": ChatType.DIRECT, "groupChat": ChatType.GROUP, "channel": ChatType.CHANNEL}
_REACTIONS = {"like": "👍", "heart": "❤️", "laugh": "😆", "surprised": "😮", "sad": "😢", "angry": "😡"}
_CODED = re.compile(r"([0-9a-f]{4,6}(?:-[0-9a-f]{4,6})*)_")
_QUOTE = re.compile(r'<blockquote[^>]*itemtype="[^"]*/Reply"[^>]*itemid="([^"]*)"[^>]*>(.*?)</blockquote>', re.DOTALL)
_COPY = re.compile(r'<p[^>]*itemprop="(?:copy|preview)"[^>]*>(.*?)</p>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def inbound_of(activity: Json, account: str) -> Iterator[Inbound]:
    """Yield the content of an activity; nothing if it is the bot's own or irrelevant.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as Teams writes them.
    """
    person, me = activity["from"], activity["recipient"]["id"]
    if person["id"] == me or str(person["id"]).startswith("28:"):
        return
    address, by, name = address_of(activity, account), sender_of(person), person.get("name")
    id, at = activity.get("id") or "", activity.get("timestamp") or ""
    about = activity.get("replyToId") or ""
    match activity["type"]:
        case "message":
            pressed = _pressed(activity.get("value"), address, id, by, name, about)
            yield pressed or _message(activity, address, by, name)
        case "invoke":
            if activity.get("name") == "adaptiveCard/action":
                data = activity["value"]["action"].get("data")
                if (pressed := _pressed(data, address, id or at, by, name, about)) is not None:
                    yield pressed
        case "messageUpdate":  # edited, or deleted and brought back
            yield MessageEdited(address, f"{id}:{at}", by, name, message_id=id, text=text_of(activity))
        case "messageDelete":
            yield MessageDeleted(address, f"{id}:deleted:{at}", by, name, message_id=id)
        case "messageReaction":
            for added, key in ((True, "reactionsAdded"), (False, "reactionsRemoved")):
                for each in activity.get(key) or ():
                    event, emoji = f"{id or at}:{about}:{added}:{each['type']}", emoji_of(each["type"])
                    yield ReactionChanged(address, event, by, name, message_id=about, emoji=emoji, added=added)
        case "conversationUpdate":
            for joined, key in ((True, "membersAdded"), (False, "membersRemoved")):
                for each in activity.get(key) or ():
                    if each["id"] != me:
                        event, member = f"{id or at}:{each['id']}", sender_of(each)
                        yield MembershipChanged(address, event, by, name, member=member, joined=joined)


def address_of(activity: Json, account: str) -> Address:
    """Return where an activity happened; what is said in a channel belongs to the thread of its post."""
    conversation = activity["conversation"]
    peer, _, root = str(conversation["id"]).partition(THREAD)
    kind = _KINDS[conversation.get("conversationType") or ("groupChat" if conversation.get("isGroup") else "personal")]
    if kind is not ChatType.CHANNEL:
        return Address("msteams", peer, account, kind)
    team = ((activity.get("channelData") or {}).get("team") or {}).get("id")
    return Address("msteams", peer, account, kind, thread=root or None, space=team)


def sender_of(person: Json) -> str:
    """Return the typed identity of a person: the id of the directory, or the one that only this bot knows."""
    return f"msteams:user:{person.get('aadObjectId') or person['id']}"


def text_of(activity: Json) -> str:
    """Return the words of a message, without mentions of the bot and with others as names."""
    text, me = str(activity.get("text") or ""), activity["recipient"]["id"]
    for each in activity.get("entities") or ():
        if each.get("type") == "mention" and each.get("text"):
            mentioned = each["mentioned"]
            text = text.replace(each["text"], "" if mentioned["id"] == me else f"@{mentioned.get('name') or ''}")
    if activity.get("textFormat") == "xml":
        text = _plain(text)
    return text.replace("\xa0", " ").strip()


def emoji_of(name: str) -> str:
    """Return a reaction as its emoji: Teams has names for six, and code points for others (`1f44b_wave`)."""
    if (found := _CODED.match(name)) is not None:
        return "".join(chr(int(each, 16)) for each in found[1].split("-"))
    return _REACTIONS.get(name, name)


def _message(activity: Json, address: Address, by: str, name: str | None) -> InboundMessage:
    mentions = [each["mentioned"]["id"] for each in activity.get("entities") or () if each.get("type") == "mention"]
    attachments = activity.get("attachments") or ()
    written = next((str(each.get("content") or "") for each in attachments if each.get("contentType") == HTML), "")
    quote = _QUOTE.search(written)
    copied = _COPY.search(quote[2]) if quote else None
    return InboundMessage(
        address,
        activity["id"],
        by,
        text_of(activity),
        sender_name=name,
        mentioned=address.chat_type is ChatType.DIRECT or activity["recipient"]["id"] in mentions,
        sent_at=datetime.fromisoformat(activity["timestamp"]).timestamp() if activity.get("timestamp") else None,
        media=tuple(_media(attachments)),
        reply_to=quote[1] if quote else None,
        quoted=Quote(_plain(copied[1])) if copied else None,
        group_name=(activity["conversation"].get("name") or None) if address.chat_type is ChatType.GROUP else None,
    )


def _media(attachments: Any) -> Iterator[Media]:
    for each in attachments:
        kind, name = str(each.get("contentType") or ""), each.get("name")
        if kind == FILE:
            mime = mimetypes.guess_type(name or "")[0]
            yield Media(kind_of(mime), each["content"]["downloadUrl"], mime, name)
        elif kind.startswith("image/") and each.get("contentUrl"):
            yield Media(MediaKind.IMAGE, each["contentUrl"], None if "*" in kind else kind, name)


def _pressed(value: Any, address: Address, id: str, by: str, name: str | None, about: str) -> Inbound | None:
    """Return what was pressed on a card of ours; cards of others have other data."""
    if not isinstance(value, dict):
        return None
    if BUTTON in value:
        return ButtonPressed(address, id, by, name, message_id=about, value=str(value[BUTTON]))
    if POLL in value:
        chosen = str(value.get(CHOICE) or "")
        numbers = tuple(int(each) for each in chosen.split(",") if each)
        return PollAnswered(address, id, by, name, poll_id=about, numbers=numbers)
    return None


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()
