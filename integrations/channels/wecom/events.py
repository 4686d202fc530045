"""Reads WeCom's callbacks as the hub's messages and events.

Source: https://developer.work.weixin.qq.com/document/path/101463
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hub.messaging.contract import (
    Address,
    ButtonPressed,
    ChatType,
    InboundMessage,
    Media,
    MediaKind,
    PollAnswered,
    Quote,
)

FILES = {"image": MediaKind.IMAGE, "video": MediaKind.VIDEO, "file": MediaKind.FILE}
WORDS = frozenset({"text", "voice"})
VOTE = "vote_interaction"
ROBOT_MENTION = re.compile(r"^\s*@\S+[\s\u2005]*")

Json = Mapping[str, Any]


def message_of(body: Json, account: str) -> InboundMessage:
    """Return the message of a callback; in a group WeCom brings only those that mention the bot.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as WeCom writes them.
    """
    if body["msgtype"] not in {*WORDS, *FILES, "mixed"}:
        raise ValueError(f"a message of the type {body['msgtype']!r}")
    address = address_of(body, account)
    text = _text(body)
    if address.chat_type is ChatType.GROUP:
        text = ROBOT_MENTION.sub("", text, count=1)
    quote = body.get("quote") or {}
    return InboundMessage(
        address,
        body["msgid"],
        _sender(body),
        text.strip(),
        mentioned=True,
        sent_at=body.get("create_time"),
        media=tuple(_media(body)),
        quoted=Quote(quoted) if quote and (quoted := _text(quote)) else None,
    )


def event_of(body: Json, account: str) -> ButtonPressed | PollAnswered | None:
    """Return a press of a card's button, or a vote; None for the other events.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: It is not as WeCom writes them.
    """
    if body["event"]["eventtype"] != "template_card_event":
        return None
    event = body["event"].get("template_card_event") or body["event"]
    about: dict[str, Any] = {"address": address_of(body, account), "event_id": body["msgid"], "sender": _sender(body)}
    card = event.get("task_id") or event["taskid"]
    if event.get("card_type") != VOTE:
        return ButtonPressed(**about, message_id=card, value=event["event_key"])
    chosen = (event.get("selected_items") or {}).get("selected_item") or ()
    numbers = [int(option) for each in chosen for option in each["option_ids"]["option_id"]]
    return PollAnswered(**about, poll_id=card, numbers=tuple(numbers))


def address_of(body: Json, account: str) -> Address:
    """Return the conversation of a callback: a person, or a group by its chat id."""
    if body.get("chattype") != "single":
        return Address("wecom", body["chatid"], account, ChatType.GROUP)
    return Address("wecom", body["from"]["userid"], account)


def _sender(body: Json) -> str:
    return f"wecom:user:{body['from']['userid']}"


def _parts(content: Json) -> Iterator[Json]:
    """Yield the parts of a content; a mixed one has several."""
    if content["msgtype"] == "mixed":
        yield from content["mixed"]["msg_item"]
    else:
        yield content


def _text(content: Json) -> str:
    """Return the words of a content; WeCom writes down itself what was spoken."""
    spoken = [each[each["msgtype"]]["content"] for each in _parts(content) if each["msgtype"] in WORDS]
    return "\n".join(spoken)


def _media(content: Json) -> Iterator[Media]:
    for each in _parts(content):
        if kind := FILES.get(each["msgtype"]):
            file = each[each["msgtype"]]
            reference = json.dumps({"url": file["url"], "key": file.get("aeskey", "")})
            yield Media(kind, reference, name=file.get("filename") or file.get("name"))
