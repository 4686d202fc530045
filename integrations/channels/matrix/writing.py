"""The content of the events that are sent: text with its HTML, relations, media and polls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hub.messaging.contract import Address, MediaKind, OutboundMedia, OutboundPoll
from hub.messaging.outbox.markup import Flavour, render

HTML_BYTES = 40_000
"""A content that would be larger goes without its HTML: encrypted it grows by half, and an event holds 65 536 bytes."""
POLL_START = "org.matrix.msc3381.poll.start"
_TEXT = "org.matrix.msc1767.text"
_MESSAGE_TYPES = {MediaKind.IMAGE: "m.image", MediaKind.AUDIO: "m.audio", MediaKind.VIDEO: "m.video"}

Content = dict[str, Any]


def text(markdown: str, *, silent: bool = False) -> Content:
    """Return a text message; a silent one is a notice, for which clients make no sound."""
    content: Content = {"msgtype": "m.notice" if silent else "m.text", "body": markdown, "m.mentions": {}}
    html = render(markdown, Flavour.HTML_MATRIX)
    formatted = content | {"format": "org.matrix.custom.html", "formatted_body": html}
    return formatted if len(json.dumps(formatted)) <= HTML_BYTES else content


def with_relations(content: Content, address: Address, reply_to: str | None) -> Content:
    """Return the content in the address's thread, and as a reply."""
    reply = {"m.in_reply_to": {"event_id": reply_to}} if reply_to else {}
    if address.thread:
        # Clients without threads show it as a reply to the thread's beginning.
        shown = reply or {"m.in_reply_to": {"event_id": address.thread}}
        thread = {"rel_type": "m.thread", "event_id": address.thread, "is_falling_back": not reply}
        return content | {"m.relates_to": thread | shown}
    return content | {"m.relates_to": reply} if reply else content


def edit_content(markdown: str, event_id: str) -> Content:
    """Return another text for an event that was sent."""
    new = text(markdown)
    replaced = {"m.new_content": new, "m.relates_to": {"rel_type": "m.replace", "event_id": event_id}}
    # What clients without edits show needs no markup, and with it the text would be there four times.
    return {"msgtype": "m.text", "body": f"* {markdown}"[:1_000], "m.mentions": {}} | replaced


def media(file: OutboundMedia, size: int, uploaded: str, encrypted: Mapping[str, Any] | None) -> Content:
    """Return the announcement of a file that was uploaded."""
    name = file.name or f"{file.kind.value}"
    content: Content = {
        "msgtype": _MESSAGE_TYPES.get(file.kind, "m.file"),
        "body": name,
        "filename": name,
        "info": {"mimetype": file.mime_type, "size": size},
        "m.mentions": {},
    }
    if file.voice:
        content["org.matrix.msc3245.voice"] = {}
    return content | ({"file": {**encrypted, "url": uploaded}} if encrypted else {"url": uploaded})


def poll(asked: OutboundPoll) -> Content:
    """Return the start of a poll; the id of an answer is its text, so that a vote names the choice."""
    fallback = "\n".join([asked.question, *(f"- {each}" for each in asked.options)])
    start = {
        "question": {_TEXT: asked.question, "body": asked.question, "msgtype": "m.text"},
        "kind": "org.matrix.msc3381.poll.disclosed",
        "max_selections": len(asked.options) if asked.multiple else 1,
        "answers": [{"id": each, _TEXT: each} for each in asked.options],
    }
    return {POLL_START: start, _TEXT: fallback}
